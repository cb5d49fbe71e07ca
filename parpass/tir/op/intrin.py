"""Calls of operators, under TVM's names: of mathematics, of external functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.op.op_table import Op
from parpass.tir.data_type import data_type
from parpass.tir.expr import Buffer, Call, FloatImm, PrimExpr, StringImm, as_prim_expr
from parpass.tir.op.conditions import logical_and, logical_not
from parpass.tir.op.const_fold import rounded, rounded_by
from parpass.tir.op.numeric import abs as absolute
from parpass.tir.op.operands import cast_to, const, infinity, match_types

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "call_extern",
    "call_intrin",
    "call_packed",
    "call_pure_extern",
    "ceil",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "floor",
    "fmod",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "log",
    "log1p",
    "log2",
    "log10",
    "nearbyint",
    "nextafter",
    "popcount",
    "power",
    "q_multiply_shift",
    "ret",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


def call_intrin(
    dtype: str, func_name: Any, *args: Any, span: Span | None = None
) -> Call:
    """Return a call of an operator, by its name."""
    return Call(dtype, func_name, args, span)


def call_extern(
    dtype: str, func_name: str, *args: Any, span: Span | None = None
) -> Call:
    """Return a call of an external C function, which may do anything."""
    return Call(dtype, Op.get("tir.call_extern"), _named(func_name, args), span)


def call_pure_extern(
    dtype: str, func_name: str, *args: Any, span: Span | None = None
) -> Call:
    """Return a call of an external C function without side effects."""
    return Call(dtype, Op.get("tir.call_pure_extern"), _named(func_name, args), span)


def call_packed(*args: Any, span: Span | None = None) -> Call:
    """Return a call of a registered function, whose name comes first."""
    found = _named(args[0], args[1:])
    return Call("int32", Op.get("tir.tvm_call_packed"), found, span)


def ret(val: Any, span: Span | None = None) -> PrimExpr:
    """Return an expression that ends the function with a value."""
    value = as_prim_expr(val)
    return Call(value.dtype, Op.get("tir.ret"), (value,), span)


def _named(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    values = [one.access_ptr("rw") if isinstance(one, Buffer) else one for one in args]
    return (StringImm(name), *values)


Unary = Callable[[Any], PrimExpr]


def _unary(name: str, dtype: str | None = None) -> Unary:
    def build(x: Any) -> PrimExpr:
        expr = as_prim_expr(x)
        return Call(dtype or expr.dtype, Op.get(f"tir.{name}"), (expr,))

    build.__name__ = name
    build.__doc__ = f"Return a call of `tir.{name}`."
    return build


exp = _unary("exp")
exp2 = _unary("exp2")
exp10 = _unary("exp10")
erf = _unary("erf")
tanh = _unary("tanh")
sigmoid = _unary("sigmoid")
log = _unary("log")
log2 = _unary("log2")
log10 = _unary("log10")
log1p = _unary("log1p")
tan = _unary("tan")
cos = _unary("cos")
cosh = _unary("cosh")
acos = _unary("acos")
acosh = _unary("acosh")
sin = _unary("sin")
sinh = _unary("sinh")
asin = _unary("asin")
asinh = _unary("asinh")
atan = _unary("atan")
atanh = _unary("atanh")
sqrt = _unary("sqrt")
rsqrt = _unary("rsqrt")
popcount = _unary("popcount")
clz = _unary("clz", "int32")


def _rounding(name: str, compute: Callable[[float], int]) -> Any:
    def build(x: Any, span: Span | None = None) -> PrimExpr:
        expr = as_prim_expr(x)
        if data_type(expr.dtype).is_integral:
            return expr
        if isinstance(expr, FloatImm):
            value = rounded_by(compute, rounded(expr.value, expr.dtype))
            return FloatImm(expr.dtype, value, expr.span)
        return Call(expr.dtype, Op.get(f"tir.{name}"), (expr,), span)

    build.__name__ = name
    build.__doc__ = f"Return `tir.{name}` of a float; of an int, itself."
    return build


floor = _rounding("floor", math.floor)
ceil = _rounding("ceil", math.ceil)
trunc = _rounding("trunc", math.trunc)
nearbyint = _rounding("nearbyint", round)
round = _rounding("round", round)  # noqa: A001 -- TVM's name


def _binary(name: str, x: Any, y: Any) -> PrimExpr:
    lhs = as_prim_expr(x)
    return Call(lhs.dtype, Op.get(f"tir.{name}"), (lhs, as_prim_expr(y)))


def atan2(x1: Any, x2: Any) -> PrimExpr:
    """Return the angle of the point (x2, x1)."""
    return _binary("atan2", x1, x2)


def nextafter(x1: Any, x2: Any) -> PrimExpr:
    """Return the next float after `x1` in the direction of `x2`."""
    return _binary("nextafter", x1, x2)


def hypot(x1: Any, x2: Any) -> PrimExpr:
    """Return the root of the sum of squares."""
    return _binary("hypot", x1, x2)


def copysign(x1: Any, x2: Any) -> PrimExpr:
    """Return `x1` with the sign of `x2`."""
    return _binary("copysign", x1, x2)


def ldexp(x1: Any, x2: Any) -> PrimExpr:
    """Return `x1` times two to the power of `x2`."""
    return _binary("ldexp", x1, x2)


def fmod(x: Any, y: Any) -> PrimExpr:
    """Return the remainder of a float division, rounded towards zero."""
    return _binary("fmod", x, y)


def power(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """Return a power of a float.

    Raises:
        IRTypeError: The value is not a float.
    """
    lhs, rhs = match_types(x, y)
    if not data_type(lhs.dtype).is_floating:
        raise IRTypeError(
            f"expected floats: power only applies to float, got {lhs.dtype}"
        )
    return Call(lhs.dtype, Op.get("tir.pow"), (lhs, rhs), span)


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> PrimExpr:
    """Return the product of two fixed-point numbers, rounded, shifted by `s`."""
    return Call("int32", Op.get("tir.q_multiply_shift"), (x, y, q, s))


def _bools_like(expr: PrimExpr) -> str:
    return data_type("bool").with_lanes(data_type(expr.dtype).lanes)


def isnan(x: Any, span: Span | None = None) -> PrimExpr:
    """Return whether a number is NaN."""
    expr = as_prim_expr(x)
    dtype, kind = _bools_like(expr), data_type(expr.dtype)
    if kind.is_integral:
        return const(False, dtype)
    if not kind.is_floating:
        raise IRTypeError(f"expected numbers for isnan, got {expr.dtype}")
    if isinstance(expr, FloatImm):
        return const(math.isnan(expr.value), dtype)
    if kind.bits == 16:
        expr = cast_to(expr, data_type("float32").with_lanes(kind.lanes))
    return Call(dtype, Op.get("tir.isnan"), (expr,), span)


def isinf(x: Any, span: Span | None = None) -> PrimExpr:
    """Return whether a number is infinite."""
    expr = as_prim_expr(x)
    kind = data_type(expr.dtype)
    if kind.is_integral:
        return const(False, _bools_like(expr))
    if not kind.is_floating:
        raise IRTypeError(f"expected numbers for isinf, got {expr.dtype}")
    is_infinite = absolute(expr).equal(infinity(kind.element))
    return logical_and(is_infinite, logical_not(isnan(expr)), span)


def isfinite(x: Any, span: Span | None = None) -> PrimExpr:
    """Return whether a number is finite, and not NaN."""
    return logical_and(logical_not(isinf(x)), logical_not(isnan(x)), span)
