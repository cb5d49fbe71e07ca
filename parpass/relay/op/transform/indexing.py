"""Operators that pick elements by tensors of indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import Array, TypeRelationError
from parpass.ir.types.ty import Any as UnknownDim
from parpass.ir.types.ty import TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, Operand, Tuple, TupleWrapper
from parpass.relay.op.declaration.attributes import one_of
from parpass.relay.op.declaration.build import INJECTIVE, operator
from parpass.relay.op.declaration.relations import (
    agree,
    broadcast_shape,
    normal_axis,
    require_integer,
    require_rank,
    tensors,
)
from parpass.relay.op.transform.join import as_tuple

__all__ = ["adv_index", "argwhere", "gather", "gather_nd", "take"]


class TakeAttrs(Attrs, frozen=True):
    """Attributes of `take`.

    Attributes:
        axis: Where to pick; None picks from the flattened tensor.
        batch_dims: How many leading dimensions data and indices share.
        mode: What an index out of range means: `clip` the nearest one, `wrap` modulo
            the length; `fast` promises that there is none.
    """

    axis: int | None = None
    batch_dims: int = 0
    mode: Annotated[str, one_of("clip", "wrap", "fast")] = "clip"

    def check(self) -> None:
        """Reject batches without an axis."""
        if self.batch_dims != 0 and self.axis is None:
            raise IRTypeError(
                f"expected an axis with batch_dims {self.batch_dims}, got none"
            )


def _take_relation(types: Sequence[Type], attrs: TakeAttrs) -> TensorType:
    data, indices = tensors(types)
    require_integer(indices, "the indices")
    if attrs.axis is None:
        return TensorType(indices.shape, data.dtype)
    axis = normal_axis(attrs.axis, len(data.shape))
    shared = _batch_dims(attrs, data, indices, axis)
    picked = indices.shape[shared:]
    shape = (*data.shape[:axis], *picked, *data.shape[axis + 1 :])
    return TensorType(shape, data.dtype)


def _batch_dims(
    attrs: TakeAttrs, data: TensorType, indices: TensorType, axis: int
) -> int:
    shared = attrs.batch_dims
    if shared < 0:
        shared += len(indices.shape)
    fits = 0 <= shared <= min(axis, len(indices.shape)) and all(
        map(agree, data.shape[:shared], indices.shape[:shared])
    )
    if not fits:
        raise TypeRelationError(
            f"expected {attrs.batch_dims} leading dimensions that are equal, before "
            f"axis {axis}, got {data} and {indices}"
        )
    return shared


def _take(attrs: TakeAttrs, data: Array, indices: Array) -> Array:
    # Around an axis of no length numpy 2.4 goes for ever, if nothing is picked of it.
    mode = "wrap" if attrs.mode == "wrap" and data.size else "clip"
    if not attrs.batch_dims:
        return np.asarray(np.take(data, indices, axis=attrs.axis, mode=mode))
    shared = attrs.batch_dims % (indices.ndim + 1)
    if attrs.batch_dims < 0:
        shared = indices.ndim + attrs.batch_dims
    axis = normal_axis(attrs.axis or 0, data.ndim) - shared
    batches, rest = data.shape[:shared], data.shape[shared:]
    picked = *rest[:axis], *indices.shape[shared:], *rest[axis + 1 :]
    result = np.empty((*batches, *picked), data.dtype)
    for at in np.ndindex(batches):
        result[at] = np.take(data[at], indices[at], axis=axis, mode=mode)
    return result


@operator("take", _take_relation, _take, TakeAttrs, pattern=INJECTIVE, moves=True)
def take(
    data: Expr,
    indices: Operand,
    axis: int | None = None,
    batch_dims: int = 0,
    mode: str = "clip",
) -> Call:
    """Pick elements, or slices along an axis, by their indices.

    Raises:
        IRTypeError: There are `batch_dims` without an axis, or `mode` is none of TVM's.
    """
    ...


class GatherAttrs(Attrs, frozen=True):
    """Attributes of `gather`."""

    axis: int


def _gather_relation(types: Sequence[Type], attrs: GatherAttrs) -> TensorType:
    data, indices = tensors(types)
    require_integer(indices, "the indices")
    require_rank(indices, len(data.shape), "the indices")
    axis = normal_axis(attrs.axis, len(data.shape))
    for at, (length, count) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if (
            at == axis
            or isinstance(length, UnknownDim)
            or isinstance(count, UnknownDim)
        ):
            continue
        if count > length:
            raise TypeRelationError(
                f"expected indices no longer than the data but along axis {axis}, got "
                f"{data} and {indices}"
            )
    return TensorType(indices.shape, data.dtype)


def _gather(attrs: GatherAttrs, data: Array, indices: Array) -> Array:
    parts = [slice(count) for count in indices.shape]
    parts[attrs.axis] = slice(None)
    return np.take_along_axis(data[tuple(parts)], indices, attrs.axis)


@operator("gather", _gather_relation, _gather, GatherAttrs, pattern=INJECTIVE)
def gather(data: Expr, axis: int, indices: Expr) -> Call:
    """Pick elements along an axis; each index stands where its element goes."""
    ...


class GatherNDAttrs(Attrs, frozen=True):
    """Attributes of `gather_nd`.

    Attributes:
        batch_dims: How many leading dimensions of the data run along with the
            dimensions of the indices behind the first.
        index_rank: How many indices lead to an element, where that is not known from
            the type of the indices.
    """

    batch_dims: int = 0
    index_rank: int | None = None


def _gather_nd_relation(types: Sequence[Type], attrs: GatherNDAttrs) -> TensorType:
    data, indices = tensors(types)
    require_integer(indices, "the indices")
    first = indices.shape[0] if indices.shape else 0
    depth = attrs.index_rank if isinstance(first, UnknownDim) else first
    if depth is None:
        raise TypeRelationError(f"expected index_rank for indices {indices}, got none")
    shared = attrs.batch_dims
    fits = depth and depth + shared <= len(data.shape)
    if not fits or not all(map(agree, data.shape[:shared], indices.shape[1:])):
        raise TypeRelationError(
            f"expected indices of up to {len(data.shape) - shared} dimensions of "
            f"{data}, got {indices}"
        )
    return TensorType((*indices.shape[1:], *data.shape[depth + shared :]), data.dtype)


def _gather_nd(attrs: GatherNDAttrs, data: Array, indices: Array) -> Array:
    places = indices.shape[1:]
    batch = np.ogrid[tuple(slice(length) for length in places)][: attrs.batch_dims]
    return data[(*batch, *indices)]


@operator(
    "gather_nd", _gather_nd_relation, _gather_nd, GatherNDAttrs, pattern=INJECTIVE
)
def gather_nd(
    data: Expr, indices: Expr, batch_dims: int = 0, index_rank: int | None = None
) -> Call:
    """Pick elements or slices; the first dimension of the indices leads to each."""
    ...


def _adv_index_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    (given,) = types
    if not isinstance(given, TupleType) or len(given.fields) < 2:
        raise TypeRelationError(f"expected a tuple of data and indices, got {given}")
    data, *indices = tensors(given.fields)
    if len(indices) > len(data.shape):
        raise TypeRelationError(
            f"expected up to {len(data.shape)} tensors of indices, got {len(indices)}"
        )
    for index in indices:
        require_integer(index, "the indices")
    picked = broadcast_shape(*(index.shape for index in indices))
    return TensorType((*picked, *data.shape[len(indices) :]), data.dtype)


def _adv_index(_attrs: None, fields: tuple[Array, ...]) -> Array:
    return np.asarray(fields[0][fields[1:]])


@operator(
    "adv_index", _adv_index_relation, _adv_index, argument=as_tuple, pattern=INJECTIVE
)
def adv_index(inputs: Expr | TupleWrapper | Tuple | Iterable[Operand]) -> Call:
    """Index the first tensor by the others, which broadcast, as numpy does."""
    ...


def _argwhere_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    (condition,) = tensors(types)
    return TensorType((UnknownDim(), len(condition.shape)), "int32")


def _argwhere(_attrs: None, condition: Array) -> Array:
    return np.argwhere(condition).astype("int32")


@operator("argwhere", _argwhere_relation, _argwhere)
def argwhere(condition: Expr) -> Call:
    """Return the indices of the elements that are not 0, one row for each."""
    ...
