"""Operators that write elements into a tensor, by indices or ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Annotated, Any

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Expr, Operand, const
from parpass.relay.op.declaration.attributes import Ints, IntTuple, OneOf, int_tuple
from parpass.relay.op.declaration.build import INJECTIVE, operator
from parpass.relay.op.declaration.type_relations import (
    normal_axis,
    require_integer,
    require_rank,
    require_same_dtype,
    require_shape,
    tensors,
)
from parpass.relay.op.transform.indexing import require_within

__all__ = ["scatter_elements", "scatter_nd", "sparse_to_dense", "strided_set"]


_UPDATES: dict[str, Callable[..., Any]] = {
    "add": np.add.at,
    "mul": np.multiply.at,
    "min": np.minimum.at,
    "max": np.maximum.at,
}


_MODES = ("update", "add", "mul", "mean", "min", "max")


def _scattered(data: Array, at: Any, updates: Array, mode: str) -> Array:
    result = data.copy()
    if mode == "update":
        result[at] = updates
    elif mode == "mean":
        total, count = data.copy(), np.ones(data.shape, data.dtype)
        np.add.at(total, at, updates)
        np.add.at(count, at, data.dtype.type(1))
        if data.dtype.kind in "iu":
            return total // count
        return (total / count).astype(data.dtype, copy=False)  # one of bools, too
    else:
        _UPDATES[mode](result, at, updates)
    return result


class ScatterElementsAttrs(Attrs, frozen=True):
    """Attributes of `scatter_elements`.

    Attributes:
        reduction: `update` replaces the old element; `add`, `mul`, `mean`, `min` and
            `max` combine it with the new ones.
    """

    axis: int = 0
    reduction: Annotated[str, OneOf(*_MODES)] = "update"


def _scatter_elements_relation(
    types: Sequence[Type], attrs: ScatterElementsAttrs
) -> TensorType:
    data, indices, updates = tensors(types)
    require_integer(indices, "the indices")
    require_same_dtype((data, updates))
    require_rank(indices, len(data.shape), "the indices")
    require_shape(updates, indices.shape, "the updates")
    require_within(indices, data, normal_axis(attrs.axis, len(data.shape)))
    return data


def _scatter_elements(
    attrs: ScatterElementsAttrs, data: Array, indices: Array, updates: Array
) -> Array:
    at: list[Any] = list(np.ogrid[tuple(slice(length) for length in indices.shape)])
    at[attrs.axis] = indices
    return _scattered(data, tuple(at), updates, attrs.reduction)


@operator(
    "scatter_elements",
    _scatter_elements_relation,
    _scatter_elements,
    ScatterElementsAttrs,
)
def scatter_elements(
    data: Expr, indices: Expr, updates: Expr, axis: int = 0, reduction: str = "update"
) -> Call:
    """Write elements at indices along an axis."""
    ...


class ScatterNDAttrs(Attrs, frozen=True):
    """Attributes of `scatter_nd`; see `ScatterElementsAttrs.reduction`."""

    mode: Annotated[str, OneOf("update", *_UPDATES)] = "update"


def _scatter_nd_relation(types: Sequence[Type], _attrs: ScatterNDAttrs) -> TensorType:
    data, indices, updates = tensors(types)
    require_integer(indices, "the indices")
    require_same_dtype((data, updates))
    depth = indices.shape[0] if indices.shape else 0
    if isinstance(depth, UnknownDim):
        return data
    if not 0 < depth <= len(data.shape):
        raise TypeRelationError(
            f"expected indices of up to {len(data.shape)} dimensions, got {indices}"
        )
    wanted = (*indices.shape[1:], *data.shape[depth:])
    require_shape(updates, wanted, "the updates")
    return data


def _scatter_nd(
    attrs: ScatterNDAttrs, data: Array, indices: Array, updates: Array
) -> Array:
    return _scattered(data, tuple(indices), updates, attrs.mode)


@operator("scatter_nd", _scatter_nd_relation, _scatter_nd, ScatterNDAttrs)
def scatter_nd(data: Expr, indices: Expr, updates: Expr, mode: str = "update") -> Call:
    """Write elements or slices at coordinates; see `gather_nd` for their order."""
    ...


class SparseToDenseAttrs(Attrs, frozen=True):
    """Attributes of `sparse_to_dense`."""

    output_shape: IntTuple


def _sparse_to_dense_relation(
    types: Sequence[Type], attrs: SparseToDenseAttrs
) -> TensorType:
    indices, values, default = tensors(types)
    require_integer(indices, "the indices")
    require_rank(default, 0, "the default value")
    rank = len(attrs.output_shape)
    count = indices.shape[:1]
    if rank != 1 or len(indices.shape) > 1:
        count = count or (UnknownDim(),)
        require_shape(indices, (*count, rank), "the indices")
    if values.shape:
        require_shape(values, count or (1,), "the values")
    return TensorType(attrs.output_shape, values.dtype)


def _sparse_to_dense(
    attrs: SparseToDenseAttrs, indices: Array, values: Array, default: Array
) -> Array:
    result = np.full(attrs.output_shape, default, values.dtype)
    at = indices.reshape(-1, len(attrs.output_shape))
    result[tuple(at.T)] = values
    return result


@operator(
    "sparse_to_dense", _sparse_to_dense_relation, _sparse_to_dense, SparseToDenseAttrs
)
def sparse_to_dense(
    sparse_indices: Expr,
    output_shape: Ints | Expr,
    sparse_values: Expr,
    default_value: Operand = 0,
) -> Call:
    """Put values at indices, a default elsewhere, cast to their dtype."""
    ...


def _strided_set_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, value, *bounds = tensors(types)
    require_same_dtype((data, value))
    for bound in bounds:
        require_integer(bound, "the bounds")
        require_rank(bound, 1, "the bounds")
    return data


def _strided_set(
    _attrs: None, data: Array, value: Array, begin: Array, end: Array, strides: Array
) -> Array:
    result = data.copy()
    count = max(len(begin), len(end))
    given = (begin.tolist(), end.tolist(), strides.tolist()[:count])
    result[tuple(slice(*bound) for bound in zip_longest(*given))] = value
    return result


@operator("strided_set", _strided_set_relation, _strided_set, pattern=INJECTIVE)
def _set_range(data: Expr, v: Expr, begin: Expr, end: Expr, strides: Expr) -> Call:
    """Build the call."""
    ...


def strided_set(
    data: Expr,
    v: Expr,
    begin: Expr | Ints,
    end: Expr | Ints,
    strides: Expr | Ints | None = None,
) -> Call:
    """Write the elements of `v` into a range of each of the first axes.

    Missing begins mean the front, missing ends the back, and missing strides 1.
    """
    first = _bounds(begin, "begin")
    steps = _bounds(() if strides is None else strides, "strides")
    return _set_range(data, v, first, _bounds(end, "end"), steps)


def _bounds(value: Expr | Ints, what: str) -> Expr:
    if isinstance(value, Expr):
        return value
    return const(np.asarray(int_tuple(value, what), "int64"))
