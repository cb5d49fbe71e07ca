"""What is promised of sums and products whose order is not: docs/machine-code.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from parpass import relay
from parpass.ir.node import post_order
from parpass.ir.types import TensorType
from parpass.relay.expr import Call, Constant, Expr
from parpass.relay.functor import ExprMutator
from parpass.relay.op import Op
from parpass.runtime.dtypes import computed_in, float_range, is_float_dtype
from tests.support.relay.op.calls import Array, related, value

# Operators whose elements are sums, by how many values are in one: a mean divides them,
# in its loops at the end, in the interpreter also axis by axis.
SUMS = frozenset({
    "cumsum", "einsum", "nn.batch_matmul", "nn.contrib_conv2d_NCHWc",
    "nn.contrib_depthwise_conv2d_NCHWc", "nn.conv1d",
    "nn.conv1d_transpose", "nn.conv2d", "nn.conv2d_transpose", "nn.conv3d",
    "nn.conv3d_transpose", "nn.dense", "nn.matmul", "sum",
})  # fmt: skip
MEANS = frozenset({
    "mean", "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d",
    "nn.adaptive_avg_pool3d", "nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d",
    "nn.global_avg_pool2d",
})  # fmt: skip
PRODUCTS = frozenset({"cumprod", "prod"})
ALL = sorted(SUMS | MEANS | PRODUCTS)

_EDGE = 2.0**-8  # so near to the end of a range nothing is promised
_LOWER = 2.0**-520  # doubles are summed in a scale in which none overflows


class Promise(NamedTuple):
    """What the elements of a result have to be.

    Attributes:
        holds: Of which elements something is promised.
        wanted: These, in float64.
        error: How far a result may be from a finite one.
    """

    holds: Array
    wanted: Array
    error: Array


def promise(call: Call) -> Promise:
    """Return what the result of an operator of `ALL` has to be, whatever the order."""
    assert isinstance(call.op, Op)
    kind = _products if call.op.name in PRODUCTS else _sums
    with np.errstate(all="ignore"):
        return kind(call, call.op.name)


def assert_as_promised(found: Array, promised: Promise) -> None:
    """Compare a result with what it has to be."""
    holds, wanted, error = promised
    wide, dtype = np.asarray(found, "float64"), found.dtype.name
    last = 2.0 ** -(7 if dtype == "bfloat16" else 10)
    is_number = np.isfinite(wanted)
    exact, near = holds & ~is_number, holds & is_number
    np.testing.assert_array_equal(wide[exact], wanted[exact])
    with np.errstate(invalid="ignore"):
        off = np.abs(wide - wanted)
    if computed_in(dtype) != dtype:
        error = error + last * np.abs(wanted) + float_range(dtype)[0] * last
        # An infinity is what became of all from the largest number on.
        beyond = float_range(dtype)[1] - np.copysign(1, wide) * wanted
        off = np.where(np.isinf(wide), np.maximum(beyond, 0), off)
    is_off = near & ~(off <= error)
    assert not is_off.any(), (wide[is_off], wanted[is_off], error[is_off])


def _sums(call: Call, name: str) -> Promise:
    dtype = _dtype(call)
    least, most = float_range(dtype)
    exact = _computed(call, lambda values: values)
    sizes = _computed(call, lambda values: np.abs(_finite(values)))
    # Of doubles those are sums only where none overflows, which these tell.
    factor = _LOWER if dtype == "float64" else 1.0
    most *= factor ** _factors(call, name)
    low = _computed(call, lambda values: values * factor)
    low_sizes = _computed(call, lambda values: np.abs(_finite(values)) * factor)
    count = _most_in_a_mean(call) if name in MEANS else 1
    fits = low_sizes * count <= most * (1 - _EDGE)
    overflows = np.isfinite(low) & (np.abs(low) == low_sizes)
    # Among much larger ones a term of the other sign that overflows would not be seen.
    overflows &= (low_sizes > most * (1 + _EDGE)) & (low_sizes < most * 2.0**40)
    overflows &= name not in MEANS
    wanted = np.where(overflows, np.copysign(np.inf, low), exact)
    terms = _terms(call, name)
    error = terms * np.finfo(dtype).eps * (sizes + least)
    return Promise(np.isnan(low) | fits | overflows, wanted, error)


def _products(call: Call, _name: str) -> Promise:
    dtype = _dtype(call)
    least, most = float_range(dtype)
    above = _computed(call, lambda values: np.maximum(np.abs(_finite(values)), 1))
    below = _computed(call, _below)
    exact = _computed(call, lambda values: values)
    fits = (above <= most * (1 - _EDGE)) & (below >= least * (1 + _EDGE))
    error = _elements(call) * np.finfo(dtype).eps * np.abs(exact)
    return Promise(fits | np.isnan(exact), exact, error)


def _below(values: Array) -> Array:
    """Return the magnitudes of factors below 1, of others 1."""
    sizes = np.abs(_finite(values))
    return np.where(sizes == 0, 1, np.minimum(sizes, 1))


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0)


def _dtype(call: Call) -> str:
    """Return the dtype that is summed in."""
    found = related(call)
    assert isinstance(found, TensorType)
    return computed_in(found.dtype)


def _constants(call: Call) -> list[Constant]:
    nodes = (one for one in post_order(call) if isinstance(one, Constant))
    return [one for one in nodes if is_float_dtype(one.data.dtype)]


def _factors(call: Call, name: str) -> int:
    """Return how many factors the products have of which a result is a sum."""
    if name in MEANS or "sum" in name.replace("einsum", ""):
        return 1
    return len(_constants(call)) if name == "einsum" else 2


def _terms(call: Call, name: str) -> Array:
    """Return how many terms each sum has, at least 1."""
    if name in MEANS:
        # Divided for each axis.
        return np.asarray(_most_in_a_mean(call) + 3)
    return np.maximum(_computed(call, np.ones_like), 1)


def _most_in_a_mean(call: Call) -> int:
    attrs: Any = call.attrs
    return math.prod(attrs.pool_size) if "pool_size" in attrs else _elements(call)


def _elements(call: Call) -> int:
    return math.prod(_constants(call)[0].data.shape)


def _computed(call: Call, change: Callable[[Array], Array]) -> Array:
    """Return what a call is of its floats as doubles, changed."""
    changed = _Doubles(change).visit(call)
    assert isinstance(changed, Call)
    attrs: Any = changed.attrs
    for name in ("dtype", "out_dtype"):
        if name in (attrs or ()):
            attrs = replace(attrs, **{name: ""})
    return np.asarray(value(Call(changed.op, changed.args, attrs)), "float64")


class _Doubles(ExprMutator):
    def __init__(self, change: Callable[[Array], Array]) -> None:
        super().__init__()
        self._change = change

    def visit_constant(self, const: Constant) -> Expr:
        if not is_float_dtype(const.data.dtype):
            return const
        doubles = const.data.numpy().astype("float64")
        return relay.const(np.asarray(self._change(doubles), "float64"))
