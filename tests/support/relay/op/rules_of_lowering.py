"""Every operator with a rule of lowering, and how near its kernels come to numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from parpass.ir.node import post_order
from parpass.relay import op
from parpass.relay.expr import Call, Constant, TupleWrapper
from parpass.relay.op.transform.scatter import ScatterElementsAttrs
from tests.support.relay.lowered import interpreted, lowered, results_for
from tests.support.relay.op.calls import Array, name_of, value
from tests.support.relay.op.dyn_strategies import DYNAMIC
from tests.support.relay.op.nn_strategies import NETWORKS
from tests.support.relay.op.operators import GENERATED, with_facet
from tests.support.relay.op.shapes import Built
from tests.support.special_floats import assert_same_bits
from tests.support.target.compiled import compiled

# Dynamic operators have no kernels. Of the others numpy computes those without a rule,
# each of which is left to it by name.
_STATIC = GENERATED.keys() - DYNAMIC.keys()
WITH_RULE = sorted(_STATIC & {*with_facet("loops")})
WITHOUT_RULE = _STATIC - {*WITH_RULE}


def _named(*parts: str) -> list[str]:
    return [name for name in NETWORKS if any(part in name for part in parts)]


# How far a result may be from numpy's where it is of floats, in units of the last digit
# of the largest element. What is not here gives numpy's very bits, but for NaN's.
SUMS = 100  # in another order; of the largest operand, too, as sums may cancel
ROUNDED = 8  # a function of numpy's own, or C's, is rounded otherwise
BETWEEN = 1  # a sum in float64 that lies between two values is rounded to either
NEAR = 1  # of a polynomial, wrong by at most 0.6, where that of C in float64 is rounded
TOLERANCE = {
    **dict.fromkeys(_named("resize", "upsampling"), BETWEEN),
    **dict.fromkeys(_named("conv", "norm", "avg_pool", "softmax"), SUMS),
    **dict.fromkeys(_named("cross", "loss", "dense", "matmul", "lrn"), SUMS),
    **dict.fromkeys(("sum", "mean", "prod", "variance", "cumsum", "cumprod"), SUMS),
    **dict.fromkeys(("collapse_sum_like", "collapse_sum_to", "einsum"), SUMS),
    **dict.fromkeys(
        ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos"), ROUNDED
    ),
    **dict.fromkeys(("cosh", "exp", "fast_exp", "fast_tanh", "log", "log10"), ROUNDED),
    **dict.fromkeys(("log1p", "log2", "power", "rsqrt", "sigmoid", "sin"), ROUNDED),
    **dict.fromkeys(("sinh", "tan", "tanh"), ROUNDED),
    **dict.fromkeys(("erf", "fast_erf"), NEAR),
}
LAST_DIGIT = {
    "float64": 2.0**-52,
    "float32": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}


@st.composite
def calls(draw: st.DrawFn, name: str) -> Built:
    """Return a call of an operator that may have a kernel."""
    built = GENERATED[name](draw)
    # To have a tuple of one field is the privilege of numpy, and to combine elements.
    assume(not isinstance(built, TupleWrapper) or len(built) > 1)
    attrs = getattr(built, "attrs", None)
    if isinstance(built, Call) and isinstance(attrs, ScatterElementsAttrs):
        data, picked, updates = built.args
        return op.scatter_elements(data, picked, updates, attrs.axis)
    return built


def meaning(built: Built) -> Sequence[Array]:
    """Return what numpy computes for a call."""
    found = value(built)
    return cast("Any", found) if isinstance(found, tuple) else [found]


def by_machine(built: Built) -> list[Array]:
    """Return what machine code computes for a call."""
    func, values = lowered(built)
    results = results_for(func)
    compiled(func)["main"](*[np.array(one) for one in values], *results)
    return results


def assert_means_the_same(
    built: Built, run: Callable[[Built], list[Array]] = interpreted
) -> None:
    """Compare what a kernel computes with what numpy does, as near as the table says.

    Args:
        built: A call.
        run: Computes it.
    """
    assert_as_near(built, run(built), meaning(built))


def assert_as_near(
    built: Built, found: Sequence[Array], wanted: Sequence[Array]
) -> None:
    """Compare results, as near as the table says for a call's operator."""
    digits = TOLERANCE.get(name_of(built), 0)
    cancelled = SUMS * _largest_operand(built) if digits == SUMS else 0.0
    for one, other in zip(found, wanted, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        dtype = computed = one.dtype.name
        if dtype in {"float16", "bfloat16"}:  # computed as float32, and rounded once
            one, other = one.astype("float32"), other.astype("float32")
            digits, computed = min(digits, 1), "float32"
        if not digits or dtype not in LAST_DIGIT:
            assert_same_bits(one, other)
            continue
        near = digits * LAST_DIGIT[dtype]
        bound = near * _largest(other) + cancelled * LAST_DIGIT[computed]
        np.testing.assert_allclose(one, other, near, bound)


def _largest_operand(built: Built) -> float:
    nodes = post_order(built.astuple() if isinstance(built, TupleWrapper) else built)
    operands = [node.data.numpy() for node in nodes if isinstance(node, Constant)]
    return max(map(_largest, operands), default=0.0)


def _largest(values: Array) -> float:
    """Return the greatest absolute value of finite elements; 0 if there is none."""
    numbers = values.astype("float64")
    return float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))
