"""Operators that sort and search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, TupleWrapper
from parpass.relay.op.declaration.attributes import DType, OneOf
from parpass.relay.op.declaration.build import operator
from parpass.relay.op.declaration.type_relations import (
    agree,
    axis_identity,
    normal_axis,
    require_number,
    require_same_dtype,
    tensors,
)

__all__ = ["argsort", "searchsorted", "sort", "topk"]


_FEW = 2_000  # elements, which are sorted in less time than a partition takes


def _order(data: Array, axis: int, *, ascending: bool) -> Array:
    """Return the indices that sort, stably."""
    if ascending:
        return np.argsort(data, axis=axis, kind="stable")
    last = data.shape[axis] - 1
    backwards = np.argsort(np.flip(data, axis), axis=axis, kind="stable")
    return np.flip(last - backwards, axis)


def _first_in_order(data: Array, count: int, *, ascending: bool) -> Array:
    """Return the first of the indices that sort along the last axis, stably.

    Only these are sorted: a partition tells which they are, where NaN is the largest,
    and of those that are equal to the last one the first are taken.
    """
    length = data.shape[-1]
    if count == length or data.size < _FEW or data.dtype.kind not in "iuf":
        return _order(data, -1, ascending=ascending)[..., :count]
    at = count - 1 if ascending else length - count
    last = np.partition(data, at)[..., at : at + 1]
    tied, of_none = data == last, np.isnan(last)
    before = data < last if ascending else ~(data <= last)
    if of_none.any():
        is_none = np.isnan(data)
        before = np.where(of_none, ~is_none & ascending, before)
        tied |= is_none & of_none
    missing = count - before.sum(-1, keepdims=True)
    if (tied.sum(-1, keepdims=True) > missing).any():
        tied &= tied.cumsum(-1) <= missing
    chosen = before | tied
    indices = np.nonzero(chosen)[-1].reshape(*data.shape[:-1], count)
    order = _order(np.take_along_axis(data, indices, -1), -1, ascending=ascending)
    return np.take_along_axis(indices, order, -1)


class ArgsortAttrs(Attrs, frozen=True):
    """Attributes of `sort` and `argsort`; `sort` keeps the data's dtype."""

    axis: int = -1
    is_ascend: bool = True
    dtype: DType = "int32"


def _sort(attrs: ArgsortAttrs, data: Array) -> Array:
    order = _order(data, attrs.axis, ascending=attrs.is_ascend)
    return np.take_along_axis(data, order, attrs.axis)


def _argsort_relation(types: Sequence[Type], attrs: ArgsortAttrs) -> TensorType:
    return TensorType(axis_identity(types, attrs).shape, attrs.dtype)


def _argsort(attrs: ArgsortAttrs, data: Array) -> Array:
    return _order(data, attrs.axis, ascending=attrs.is_ascend).astype(attrs.dtype)


@operator("sort", axis_identity, _sort, ArgsortAttrs)
def sort(data: Expr, axis: int = -1, is_ascend: bool = True) -> Call:
    """Sort along an axis."""
    ...


@operator("argsort", _argsort_relation, _argsort, ArgsortAttrs)
def argsort(
    data: Expr, axis: int = -1, is_ascend: bool = True, dtype: str = "int32"
) -> Call:
    """Return the indices that sort along an axis; the sort is stable."""
    ...


RetType = Annotated[str, OneOf("both", "values", "indices")]


class TopKAttrs(Attrs, frozen=True):
    """Attributes of `topk`.

    Attributes:
        k: How many elements; below 1 for all.
        ret_type: `both`, `values` or `indices`.
        is_ascend: Whether the smallest elements are selected.
    """

    k: int = 1
    axis: int = -1
    ret_type: RetType = "both"
    is_ascend: bool = False
    dtype: DType = "int32"


def _topk_relation(types: Sequence[Type], attrs: TopKAttrs) -> Type:
    (data,) = tensors(types)
    require_number(data)
    axis = normal_axis(attrs.axis, len(data.shape))
    length = data.shape[axis]
    if isinstance(length, int) and attrs.k > length:
        raise TypeRelationError(f"expected k up to {length}, got {attrs.k}")
    kept = attrs.k if attrs.k > 0 else length
    shape = (*data.shape[:axis], kept, *data.shape[axis + 1 :])
    values, indices = TensorType(shape, data.dtype), TensorType(shape, attrs.dtype)
    if attrs.ret_type == "both":
        return TupleType((values, indices))
    return values if attrs.ret_type == "values" else indices


def _topk(attrs: TopKAttrs, data: Array) -> Array | tuple[Array, Array]:
    kept = attrs.k if attrs.k > 0 else data.shape[attrs.axis]
    rows = np.moveaxis(data, attrs.axis, -1)
    first = _first_in_order(rows, kept, ascending=attrs.is_ascend)
    order = np.moveaxis(first, -1, attrs.axis)
    values = np.take_along_axis(data, order, attrs.axis)
    indices = order.astype(attrs.dtype)
    if attrs.ret_type == "both":
        return values, indices
    return values if attrs.ret_type == "values" else indices


def results_of_topk(call: Call) -> int | None:
    """Return the number of results, None for a single tensor."""
    return 2 if call.attrs.ret_type == "both" else None


@operator("topk", _topk_relation, _topk, TopKAttrs, results=results_of_topk)
def topk(
    data: Expr,
    k: int | Expr = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int32",
) -> Call | TupleWrapper:
    """Return the largest or smallest elements along an axis, and their indices."""
    ...


class SearchSortedAttrs(Attrs, frozen=True):
    """Attributes of `searchsorted`.

    Attributes:
        right: Whether the index is after equal elements.
    """

    right: bool = False
    dtype: DType = "int32"


def _searchsorted_relation(
    types: Sequence[Type], attrs: SearchSortedAttrs
) -> TensorType:
    found, values = tensors(types)
    require_same_dtype((found, values))
    rows = found.shape[:-1]
    if not found.shape or (
        len(found.shape) != 1
        and (
            len(rows) + 1 != len(values.shape)
            or not all(map(agree, rows, values.shape[:-1]))
        )
    ):
        raise TypeRelationError(
            f"expected one sequence, or one for each row of values, got {found} and "
            f"{values}"
        )
    return TensorType(values.shape, attrs.dtype)


def _searchsorted(attrs: SearchSortedAttrs, found: Array, values: Array) -> Array:
    side = "right" if attrs.right else "left"
    if found.ndim == 1:
        return np.searchsorted(found, values, side).astype(attrs.dtype)
    result = np.empty(values.shape, attrs.dtype)
    for row in np.ndindex(found.shape[:-1]):
        result[row] = np.searchsorted(found[row], values[row], side)
    return result


@operator("searchsorted", _searchsorted_relation, _searchsorted, SearchSortedAttrs)
def searchsorted(
    sorted_sequence: Expr, values: Expr, right: bool = False, dtype: str = "int32"
) -> Call:
    """Return the indices at which values can be inserted into a sorted sequence."""
    ...
