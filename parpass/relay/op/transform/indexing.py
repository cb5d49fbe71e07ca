"""Operators that pick elements by tensors of indices, and operators on sequences.

A tensor may hold sequences of different lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, Operand, Tuple, TupleWrapper
from parpass.relay.op.declaration.attributes import DType, OneOf
from parpass.relay.op.declaration.build import INJECTIVE, OUT_ELEMWISE_FUSABLE, operator
from parpass.relay.op.declaration.type_relations import (
    agree,
    broadcast_shape,
    normal_axes,
    normal_axis,
    require_integer,
    require_rank,
    require_same_dtype,
    require_shape,
    tensors,
)
from parpass.relay.op.transform.join import as_tuple
from parpass.runtime.dtypes import converted

__all__ = [
    "adv_index",
    "argwhere",
    "gather",
    "gather_nd",
    "one_hot",
    "reverse_sequence",
    "sequence_mask",
    "take",
    "unravel_index",
]


class TakeAttrs(Attrs, frozen=True):
    """Attributes of `take`.

    Attributes:
        axis: Where to pick; None picks from the flattened tensor.
        batch_dims: How many leading dimensions data and indices share.
        mode: The treatment of an index out of range: `clip` takes the nearest one,
            `wrap` the index modulo the length; `fast` promises that there is none.
    """

    axis: int | None = None
    batch_dims: int = 0
    mode: Annotated[str, OneOf("clip", "wrap", "fast")] = "clip"

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
    # On an axis of length 0, from which nothing is picked, numpy 2.4 never returns.
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
        IRTypeError: There are `batch_dims` without an axis, or `mode` is no mode of
            TVM.
    """
    ...


class GatherAttrs(Attrs, frozen=True):
    """Attributes of `gather`."""

    axis: int


def _gather_relation(types: Sequence[Type], attrs: GatherAttrs) -> TensorType:
    data, indices = tensors(types)
    require_integer(indices, "the indices")
    require_rank(indices, len(data.shape), "the indices")
    require_within(indices, data, normal_axis(attrs.axis, len(data.shape)))
    return TensorType(indices.shape, data.dtype)


def require_within(indices: TensorType, data: TensorType, axis: int) -> None:
    """Reject indices that are longer than the data, but along an axis."""
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


def _gather(attrs: GatherAttrs, data: Array, indices: Array) -> Array:
    parts = [slice(count) for count in indices.shape]
    parts[attrs.axis] = slice(None)
    return np.take_along_axis(data[tuple(parts)], indices, attrs.axis)


@operator("gather", _gather_relation, _gather, GatherAttrs, pattern=INJECTIVE)
def gather(data: Expr, axis: int, indices: Expr) -> Call:
    """Pick elements along an axis; each index stands at the position of its element."""
    ...


class GatherNDAttrs(Attrs, frozen=True):
    """Attributes of `gather_nd`.

    Attributes:
        batch_dims: How many leading dimensions of the data are shared with the
            dimensions of the indices after the first.
        index_rank: The number of indices for an element, where it is not known from the
            type of the indices.
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
    if attrs.index_rank not in (None, depth):
        raise TypeRelationError(
            f"expected {attrs.index_rank} coordinates, as index_rank says, "
            f"got {indices}"
        )
    shared = attrs.batch_dims
    places = indices.shape[1:]
    if shared > len(places):
        raise TypeRelationError(
            f"expected indices of {shared + 1} dimensions and more for batch_dims "
            f"{shared}, got {indices}"
        )
    fits = depth > 0 and 0 <= shared <= len(data.shape) - depth
    if not fits or not all(map(agree, data.shape[:shared], places)):
        raise TypeRelationError(
            f"expected indices of up to {len(data.shape) - shared} dimensions of "
            f"{data}, got {indices}"
        )
    return TensorType((*places, *data.shape[depth + shared :]), data.dtype)


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
    """Pick elements or slices; the first dimension of the indices holds coordinates."""
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


class SequenceMaskAttrs(Attrs, frozen=True):
    """Attributes of `sequence_mask`.

    Attributes:
        axis: The axis of the sequences, one of the data's first two; the second of the
            two counts the sequences.
    """

    mask_value: float = 0.0
    axis: int = 0

    def check(self) -> None:
        """Reject an axis that is not one of the first two."""
        if self.axis not in (0, 1):
            raise IRTypeError(f"expected 0 or 1 for axis, got {self.axis!r}")


def _sequence_mask_relation(
    types: Sequence[Type], attrs: SequenceMaskAttrs
) -> TensorType:
    data, lengths = tensors(types)
    if len(data.shape) < 2:
        raise TypeRelationError(f"expected two dimensions or more, got {data}")
    require_shape(lengths, (data.shape[1 - attrs.axis],), "the valid lengths")
    return data


def _sequence_mask(attrs: SequenceMaskAttrs, data: Array, lengths: Array) -> Array:
    steps = np.array(range(data.shape[attrs.axis]))
    valid: Array = (
        steps[:, None] < lengths if attrs.axis == 0 else steps < lengths[:, None]
    )
    valid = valid.reshape(*valid.shape, *(1,) * (data.ndim - 2))
    # The low bits of ints, on every machine; a cast of floats is machine-dependent.
    mask = int(attrs.mask_value) if data.dtype.kind in "iu" else attrs.mask_value
    return np.where(valid, data, np.asarray(mask).astype(data.dtype))


@operator(
    "sequence_mask",
    _sequence_mask_relation,
    _sequence_mask,
    SequenceMaskAttrs,
    pattern=INJECTIVE,
)
def sequence_mask(
    data: Expr, valid_length: Expr, mask_value: float = 0, axis: int = 0
) -> Call:
    """Replace the elements after the end of each sequence by a value."""
    ...


class ReverseSequenceAttrs(Attrs, frozen=True):
    """Attributes of `reverse_sequence`.

    Attributes:
        seq_axis: The axis along which sequences run.
        batch_axis: The axis that counts them.
    """

    seq_axis: int = 1
    batch_axis: int = 0


def _reverse_sequence_relation(
    types: Sequence[Type], attrs: ReverseSequenceAttrs
) -> TensorType:
    data, lengths = tensors(types)
    require_integer(lengths, "the lengths")
    batch, _ = normal_axes((attrs.batch_axis, attrs.seq_axis), len(data.shape))
    require_shape(lengths, (data.shape[batch],), "the lengths")
    return data


def _reverse_sequence(
    attrs: ReverseSequenceAttrs, data: Array, lengths: Array
) -> Array:
    moved = np.moveaxis(data, (attrs.batch_axis, attrs.seq_axis), (0, 1))
    result = moved.copy()
    for row, length in enumerate(lengths.tolist()):
        result[row, :length] = moved[row, :length][::-1]
    return np.moveaxis(result, (0, 1), (attrs.batch_axis, attrs.seq_axis))


@operator(
    "reverse_sequence",
    _reverse_sequence_relation,
    _reverse_sequence,
    ReverseSequenceAttrs,
    pattern=INJECTIVE,
)
def reverse_sequence(
    data: Expr, seq_lengths: Expr, seq_axis: int = 1, batch_axis: int = 0
) -> Call:
    """Reverse the first elements of each sequence, as many as its length."""
    ...


class OneHotAttrs(Attrs, frozen=True):
    """Attributes of `one_hot`; the axis -1 is a new last one."""

    depth: int
    axis: int = -1
    dtype: DType = "float32"


def _one_hot_relation(types: Sequence[Type], attrs: OneHotAttrs) -> TensorType:
    indices, on, off = tensors(types)
    require_integer(indices, "the indices")
    require_same_dtype((on, off))
    for value in (on, off):
        require_rank(value, 0, "a value")
    axis = normal_axis(attrs.axis, len(indices.shape) + 1)
    shape = (*indices.shape[:axis], attrs.depth, *indices.shape[axis:])
    return TensorType(shape, attrs.dtype)


def _one_hot(attrs: OneHotAttrs, indices: Array, on: Array, off: Array) -> Array:
    hot = indices[..., None] == np.arange(attrs.depth)
    axis = normal_axis(attrs.axis, hot.ndim)
    return np.moveaxis(converted(np.where(hot, on, off), attrs.dtype), -1, axis)


@operator(
    "one_hot", _one_hot_relation, _one_hot, OneHotAttrs, pattern=OUT_ELEMWISE_FUSABLE
)
def one_hot(
    indices: Expr,
    on_value: Operand,
    off_value: Operand,
    depth: int | Expr,
    axis: int = -1,
    dtype: str = "float32",
) -> Call:
    """Return `on_value` where the position along a new axis is the index.

    An index out of range gives `off_value` everywhere.
    """
    ...


def _unravel_index_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    indices, shape = tensors(types)
    require_integer(indices, "the indices")
    require_integer(shape, "the shape")
    require_rank(shape, 1, "the shape")
    return TensorType((*shape.shape, *indices.shape), indices.dtype)


def _unravel_index(_attrs: None, indices: Array, shape: Array) -> Array:
    places = np.unravel_index(indices, tuple(shape.tolist()))
    return np.stack(places).astype(indices.dtype)


@operator("unravel_index", _unravel_index_relation, _unravel_index, pattern=INJECTIVE)
def unravel_index(indices: Expr, shape: Expr) -> Call:
    """Return the coordinates of flat indices in a tensor of a shape."""
    ...
