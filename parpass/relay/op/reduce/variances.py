"""Variances, and what else is computed by several reductions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parpass.ir.operators.op_table import Array
from parpass.ir.types.ty import TensorType, Type
from parpass.relay.expr import Call, Expr, Tuple, TupleWrapper
from parpass.relay.op.declaration.attributes import Ints, int_tuple
from parpass.relay.op.declaration.build import COMM_REDUCE, operator
from parpass.relay.op.declaration.relations import (
    require_float,
    require_same_dtype,
    tensors,
)
from parpass.relay.op.reduce.reductions import (
    ReduceAttrs,
    max,
    mean,
    reduced_axes,
    reduced_type,
    sum,
)
from parpass.relay.op.tensor.broadcast import add, subtract
from parpass.relay.op.tensor.elementwise import exp, log, sqrt
from parpass.relay.op.transform.shape import require_broadcast, squeeze

__all__ = ["logsumexp", "mean_std", "mean_variance", "std", "variance"]


class VarianceAttrs(ReduceAttrs, frozen=True):
    """Attributes of `variance`.

    Attributes:
        unbiased: Whether to divide by one less than the number of elements.
    """

    unbiased: bool = False


def _variance_relation(types: Sequence[Type], attrs: VarianceAttrs) -> TensorType:
    data, around = tensors(types)
    require_float(data)
    require_same_dtype((data, around))
    require_broadcast(around, data.shape)
    return reduced_type(data, attrs, data.dtype)


def _variance(attrs: VarianceAttrs, data: Array, around: Array) -> Array:
    axes = reduced_axes(attrs, data.ndim)
    squares = np.square(data - around).sum(axis=axes, keepdims=attrs.keepdims)
    count = data.size // np.maximum(squares.size, 1) - int(attrs.unbiased)
    return np.asarray(squares / data.dtype.type(count))


@operator("variance", _variance_relation, _variance, VarianceAttrs, pattern=COMM_REDUCE)
def _variance_around(
    data: Expr,
    around: Expr,
    axis: Ints | None,
    keepdims: bool,
    exclude: bool,
    unbiased: bool,
) -> Call:
    """Build the call."""
    ...


def variance(
    data: Expr,
    axis: Ints | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Expr | None = None,
) -> Call:
    """Return the variance, around `with_mean` where the mean is known already.

    That has to broadcast to the data.
    """
    axes = None if axis is None else int_tuple(axis, "axis")
    around = mean(data, axes, True, exclude) if with_mean is None else with_mean
    return _variance_around(data, around, axes, keepdims, exclude, unbiased)


def std(
    data: Expr,
    axis: Ints | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> Call:
    """Return the standard deviation."""
    return sqrt(variance(data, axis, keepdims, exclude, unbiased))


def mean_variance(
    data: Expr,
    axis: Ints | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> TupleWrapper:
    """Return the mean and the variance."""
    around = mean(data, axis, True, exclude)
    spread = variance(data, axis, keepdims, exclude, unbiased, around)
    kept = around if keepdims else mean(data, axis, keepdims, exclude)
    return TupleWrapper(Tuple((kept, spread)), 2)


def mean_std(
    data: Expr, axis: Ints | None = None, keepdims: bool = False, exclude: bool = False
) -> TupleWrapper:
    """Return the mean and the standard deviation."""
    both = mean_variance(data, axis, keepdims, exclude)
    return TupleWrapper(Tuple((both[0], sqrt(both[1]))), 2)


def logsumexp(data: Expr, axis: Ints | None = None, keepdims: bool = False) -> Call:
    """Return `log(sum(exp(data)))`, without overflow."""
    largest = max(data, axis, True)
    total = log(sum(exp(subtract(data, largest)), axis, True))
    result = add(total, largest)
    return result if keepdims else squeeze(result, axis)
