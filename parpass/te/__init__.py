"""Tensor expressions, under the names of `tvm.te`: loop programs by what they compute.

    n = te.size_var("n")
    a = te.placeholder((n,), "float32", "a")
    b = te.compute((n,), lambda i: a[i] * 2.0, "b")
    func = te.create_prim_func([a, b])

There are no schedules: passes over the loops do what is to be done about speed.
"""

from parpass.te.operation import (
    ComputeOp,
    PlaceholderOp,
    compute,
    placeholder,
    reduce_axis,
    size_var,
    var,
)
from parpass.te.prim_func import create_prim_func
from parpass.tir.intrin import (
    ceil,
    cos,
    cosh,
    erf,
    exp,
    floor,
    fmod,
    isfinite,
    isinf,
    isnan,
    log,
    nearbyint,
    power,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from parpass.tir.op import (
    abs,
    all,
    any,
    const,
    div,
    floordiv,
    floormod,
    if_then_else,
    indexdiv,
    indexmod,
    max_value,
    min_value,
    truncdiv,
    truncmod,
)
from parpass.tir.reduction import comm_reducer, max, min, sum
from parpass.tir.tensor import Tensor

__all__ = [
    "ComputeOp",
    "PlaceholderOp",
    "Tensor",
    "abs",
    "all",
    "any",
    "ceil",
    "comm_reducer",
    "compute",
    "const",
    "cos",
    "cosh",
    "create_prim_func",
    "div",
    "erf",
    "exp",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "max",
    "max_value",
    "min",
    "min_value",
    "nearbyint",
    "placeholder",
    "power",
    "reduce_axis",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "size_var",
    "sqrt",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
    "var",
]
