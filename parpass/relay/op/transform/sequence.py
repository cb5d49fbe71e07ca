"""Operators on sequences of different lengths in one tensor, and on indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import Array, TypeRelationError
from parpass.ir.types.ty import TensorType, Type
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.declaration.attributes import DType
from parpass.relay.op.declaration.build import INJECTIVE, OUT_ELEMWISE_FUSABLE, operator
from parpass.relay.op.declaration.relations import (
    normal_axis,
    require_integer,
    require_rank,
    require_same_dtype,
    require_shape,
    tensors,
)
from parpass.runtime.dtypes import converted

__all__ = ["one_hot", "reverse_sequence", "sequence_mask", "unravel_index"]


class SequenceMaskAttrs(Attrs, frozen=True):
    """Attributes of `sequence_mask`.

    Attributes:
        axis: Of the data's first two axes the one along which sequences run; the
            other one counts the sequences.
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
    # Of ints the low bits, on every machine; a cast of floats leaves that open.
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
    """Put a value behind the end of each sequence."""
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
    normal_axis(attrs.seq_axis, len(data.shape))
    batch = normal_axis(attrs.batch_axis, len(data.shape))
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
    """Turn round the first elements of each sequence, as many as it is long."""
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
    """Return `on_value` where the place along a new axis is the index.

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
