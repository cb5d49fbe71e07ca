"""Operators that reduce a tensor along some of its axes, variances and `logsumexp`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationFn
from parpass.ir.types import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr, Tuple, TupleWrapper
from parpass.relay.op.declaration.attributes import Ints, IntTuple, int_tuple
from parpass.relay.op.declaration.build import COMM_REDUCE, BuilderT, operator
from parpass.relay.op.declaration.type_relations import (
    normal_axes,
    require_dtype,
    require_float,
    require_number,
    require_same_dtype,
    tensors,
)
from parpass.relay.op.tensor.elementwise import add, exp, log, sqrt, subtract
from parpass.relay.op.transform.shape import require_broadcast, squeeze
from parpass.runtime import ieee754

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "logsumexp",
    "max",
    "mean",
    "mean_std",
    "mean_variance",
    "min",
    "prod",
    "std",
    "sum",
    "variance",
]


class ReduceAttrs(Attrs, frozen=True):
    """Attributes of reductions.

    Attributes:
        axis: The axes to reduce; None for all.
        keepdims: Whether the reduced axes stay, with length 1.
        exclude: Whether to reduce the other axes instead.
    """

    axis: IntTuple | None = None
    keepdims: bool = False
    exclude: bool = False


class ArgReduceAttrs(ReduceAttrs, frozen=True):
    """Attributes of `argmax` and `argmin`.

    Attributes:
        select_last_index: Whether the last one of equal elements is selected.
    """

    select_last_index: bool = False


def _along(
    data: Expr,
    axis: Ints | Expr | None = None,
    keepdims: bool = False,
    exclude: bool = False,
) -> Call:
    """Build a call of a reduction; `exclude` reduces the complement of the axes."""
    ...


def reduced_axes(attrs: ReduceAttrs, rank: int) -> tuple[int, ...]:
    """Return the axes to reduce, counted from the front."""
    if attrs.axis is None:
        return () if attrs.exclude else tuple(range(rank))
    axes = normal_axes(attrs.axis, rank)
    if attrs.exclude:
        return tuple(axis for axis in range(rank) if axis not in axes)
    return axes


def reduced_type(data: TensorType, attrs: ReduceAttrs, dtype: str) -> TensorType:
    """Return the type of a reduction's result, in a dtype."""
    axes = reduced_axes(attrs, len(data.shape))
    dims: list[Dim] = []
    for axis, dim in enumerate(data.shape):
        if axis not in axes:
            dims.append(dim)
        elif attrs.keepdims:
            dims.append(1)
    return TensorType(tuple(dims), dtype)


def _number_relation(types: Sequence[Type], attrs: ReduceAttrs) -> TensorType:
    (data,) = tensors(types)
    require_number(data)
    return reduced_type(data, attrs, data.dtype)


def _ordered_relation(types: Sequence[Type], attrs: ReduceAttrs) -> TensorType:
    (data,) = tensors(types)
    return reduced_type(data, attrs, data.dtype)


def _bool_relation(types: Sequence[Type], attrs: ReduceAttrs) -> TensorType:
    (data,) = tensors(types)
    require_dtype(data, "bool")
    return reduced_type(data, attrs, "bool")


def _mean(data: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """Return the mean; of ints rounded towards zero, without overflow."""
    count = math.prod(data.shape[at] for at in axis)
    if data.dtype.kind not in "iu":
        if count:
            return np.mean(data, axis=axis, keepdims=keepdims)
        # What numpy's mean is, without its warning.
        return np.sum(data, axis=axis, keepdims=keepdims) / np.float32(0)
    if not count:
        raise ValueError("the mean of no ints is none")
    # The sum of all elements may overflow; quotients and remainders do not.
    wide = data.astype("uint64" if data.dtype.kind == "u" else "int64")
    each, left = np.divmod(wide, wide.dtype.type(count))
    left = left.sum(axis=axis, keepdims=keepdims)
    more, left = np.divmod(left, left.dtype.type(count))
    down = each.sum(axis=axis, keepdims=keepdims) + more
    return down + ((down < 0) & (left != 0)).astype(down.dtype)


def _reduction(
    name: str, relation: TypeRelationFn, meaning: Callable[..., Any], doc: str
) -> Callable[[BuilderT], BuilderT]:

    def compute(attrs: ReduceAttrs, data: Array) -> Array:
        axes = reduced_axes(attrs, data.ndim)
        result = meaning(data, axis=axes, keepdims=attrs.keepdims)
        return np.asarray(result).astype(data.dtype, copy=False)

    return operator(name, relation, compute, ReduceAttrs, doc=doc, pattern=COMM_REDUCE)


def _largest(data: Array, **how: Any) -> Any:
    """Return the largest element, of no elements the least number of the dtype."""
    ends = {} if data.size else {"initial": _end(data, "min")}
    return ieee754.max_along(data, **how, **ends)


def _smallest(data: Array, **how: Any) -> Any:
    ends = {} if data.size else {"initial": _end(data, "max")}
    return ieee754.min_along(data, **how, **ends)


def _end(data: Array, which: str) -> Any:
    if data.dtype.kind in "iu":
        return getattr(np.iinfo(data.dtype), which)
    if data.dtype.kind == "b":
        return which == "max"
    return -np.inf if which == "min" else np.inf


sum = _reduction("sum", _number_relation, np.sum, "Return the sum.")(_along)
mean = _reduction("mean", _number_relation, _mean, "Return the mean.")(_along)
max = _reduction("max", _ordered_relation, _largest, "Return the largest element.")(
    _along
)
min = _reduction("min", _ordered_relation, _smallest, "Return the smallest element.")(
    _along
)
prod = _reduction("prod", _number_relation, np.prod, "Return the product.")(_along)
all = _reduction("all", _bool_relation, np.all, "Return whether all elements hold.")(
    _along
)
any = _reduction("any", _bool_relation, np.any, "Return whether an element holds.")(
    _along
)


def _arg_relation(types: Sequence[Type], attrs: ArgReduceAttrs) -> TensorType:
    (data,) = tensors(types)
    require_number(data)
    return reduced_type(data, attrs, "int32")


def _arg_along(
    data: Expr,
    axis: Ints | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    select_last_index: bool = False,
) -> Call:
    """Build a call of `argmax` or `argmin`."""
    ...


def _arg_reduction(
    name: str, meaning: Callable[..., Any], doc: str
) -> Callable[[BuilderT], BuilderT]:

    def compute(attrs: ArgReduceAttrs, data: Array) -> Array:
        axes = reduced_axes(attrs, data.ndim)
        kept = [axis for axis in range(data.ndim) if axis not in axes]
        rows = data.transpose(*kept, *axes)
        count = math.prod(rows.shape[len(kept) :])
        rows = rows.reshape(*rows.shape[: len(kept)], count)
        if attrs.select_last_index:
            found = rows.shape[-1] - 1 - meaning(rows[..., ::-1], axis=-1)
        else:
            found = meaning(rows, axis=-1)
        found = np.asarray(found, "int32")
        return np.expand_dims(found, axes) if attrs.keepdims else found

    kind = ArgReduceAttrs
    return operator(name, _arg_relation, compute, kind, doc=doc, pattern=COMM_REDUCE)


argmax = _arg_reduction("argmax", np.argmax, "Return where the largest element is.")(
    _arg_along
)
argmin = _arg_reduction("argmin", np.argmin, "Return where the smallest element is.")(
    _arg_along
)


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

    That has to broadcast to the data. Without it two operators are built; the mean of
    floats narrower than float32 is rounded to these before it is subtracted.
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
    """Return the standard deviation: by several operators, each of which rounds.

    Cast half floats first where the variance may be 65,520 or more.
    """
    return sqrt(variance(data, axis, keepdims, exclude, unbiased))


def mean_variance(
    data: Expr,
    axis: Ints | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> TupleWrapper:
    """Return the mean and the variance; see `variance`."""
    around = mean(data, axis, True, exclude)
    spread = variance(data, axis, keepdims, exclude, unbiased, around)
    kept = around if keepdims else mean(data, axis, keepdims, exclude)
    return TupleWrapper(Tuple((kept, spread)), 2)


def mean_std(
    data: Expr, axis: Ints | None = None, keepdims: bool = False, exclude: bool = False
) -> TupleWrapper:
    """Return the mean and the standard deviation; see `std`."""
    both = mean_variance(data, axis, keepdims, exclude)
    return TupleWrapper(Tuple((both[0], sqrt(both[1]))), 2)


def logsumexp(data: Expr, axis: Ints | None = None, keepdims: bool = False) -> Call:
    """Return `log(sum(exp(data)))`, without overflow of the powers.

    Several operators are built, each of which rounds. The sum counts up to as many
    elements as there are: cast half floats first where that is 65,520 or more.
    """
    largest = max(data, axis, True)
    total = log(sum(exp(subtract(data, largest)), axis, True))
    result = add(total, largest)
    return result if keepdims else squeeze(result, axis)
