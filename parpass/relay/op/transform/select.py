"""Operators that pick elements of a tensor, or repeat them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Annotated

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import Ints, IntTuple, OneOf, int_tuple
from parpass.relay.op.declaration.build import BROADCAST, INJECTIVE, operator
from parpass.relay.op.declaration.type_relations import (
    Shape,
    axis_identity,
    normal_axes,
    normal_axis,
    product,
    tensors,
)

__all__ = ["repeat", "reverse", "slice_like", "strided_slice", "tile"]


SliceMode = Annotated[str, OneOf("end", "size")]


def _strides(value: Ints | None, what: str) -> tuple[int, ...]:
    return (1,) if value is None else int_tuple(value, what)


class StridedSliceAttrs(Attrs, frozen=True):
    """Attributes of `strided_slice`.

    Attributes:
        end: The end of each slice; in the slice mode `size` its length, -1 for the
            rest.
        axes: The axes to slice; None for the first ones.
    """

    begin: IntTuple
    end: IntTuple
    strides: Annotated[tuple[int, ...], _strides]
    slice_mode: SliceMode = "end"
    axes: IntTuple | None = None

    def check(self) -> None:
        """Reject bounds that are inconsistent."""
        count = len(self.begin)
        axes = self.axes
        if axes is not None and {len(self.end), len(axes)} != {count}:
            raise IRTypeError(
                f"expected as many ends and axes as begins, got begin {self.begin}, "
                f"end {self.end} and axes {axes}"
            )
        if 0 in self.strides:
            raise IRTypeError(f"expected strides other than 0, got {self.strides}")


def slices_of(attrs: StridedSliceAttrs, shape: Shape) -> list[slice]:
    count = max(len(attrs.begin), len(attrs.end))
    axes = range(count) if attrs.axes is None else attrs.axes
    slices = [slice(None)] * len(shape)
    bounds = zip_longest(attrs.begin, attrs.end, attrs.strides[:count])
    for axis, (begin, end, stride) in zip(
        normal_axes(axes, len(shape)), bounds, strict=True
    ):
        if attrs.slice_mode == "end":
            slices[axis] = slice(begin, end, stride)
        else:
            slices[axis] = _of_size(begin or 0, -1 if end is None else end, shape[axis])
    return slices


def _of_size(begin: int, size: int, dim: Dim) -> slice:
    if begin < 0 and isinstance(dim, int):
        begin += dim
    return slice(begin, None if size < 0 else begin + size)


def _sliced(dim: Dim, part: slice) -> Dim:
    if isinstance(dim, UnknownDim) or part == slice(None):
        return dim
    return len(range(*part.indices(dim)))


def _strided_slice_relation(
    types: Sequence[Type], attrs: StridedSliceAttrs
) -> TensorType:
    (data,) = tensors(types)
    slices = slices_of(attrs, data.shape)
    return TensorType(tuple(map(_sliced, data.shape, slices)), data.dtype)


def _strided_slice(attrs: StridedSliceAttrs, data: Array) -> Array:
    return data[tuple(slices_of(attrs, data.shape))]


@operator(
    "strided_slice",
    _strided_slice_relation,
    _strided_slice,
    StridedSliceAttrs,
    pattern=INJECTIVE,
    moves=True,
)
def strided_slice(
    data: Expr,
    begin: Ints | Expr,
    end: Ints | Expr,
    strides: Ints | Expr | None = None,
    axes: Ints | None = None,
    slice_mode: str = "end",
) -> Call:
    """Pick a range with a stride along each of some axes, by default the first ones.

    Without axes, there may be fewer begins than ends, or more: a slice that has none
    begins at the front, or ends at the back.

    Raises:
        IRTypeError: `begin`, `end`, `strides` and `axes` are inconsistent.
    """
    ...


class SliceLikeAttrs(Attrs, frozen=True):
    """Attributes of `slice_like`; without axes all axes of the second tensor count."""

    axes: IntTuple | None = None


def _slice_like_axes(attrs: SliceLikeAttrs, rank: int, like: int) -> tuple[int, ...]:
    axes = range(like) if attrs.axes is None else attrs.axes
    found = normal_axes(axes, rank)
    if max(found, default=-1) >= like:
        raise TypeRelationError(f"expected axes of both tensors, got {attrs.axes}")
    return found


def _slice_like_relation(types: Sequence[Type], attrs: SliceLikeAttrs) -> TensorType:
    data, like = tensors(types)
    shape = list(data.shape)
    for axis in _slice_like_axes(attrs, len(shape), len(like.shape)):
        old, new = shape[axis], like.shape[axis]
        if isinstance(old, int) and isinstance(new, int) and new > old:
            raise TypeRelationError(
                f"expected a length up to {old} along axis {axis}, got {like}"
            )
        shape[axis] = new
    return TensorType(tuple(shape), data.dtype)


def _slice_like(attrs: SliceLikeAttrs, data: Array, like: Array) -> Array:
    parts = [slice(None)] * data.ndim
    for axis in _slice_like_axes(attrs, data.ndim, like.ndim):
        parts[axis] = slice(like.shape[axis])
    return data[tuple(parts)]


@operator(
    "slice_like",
    _slice_like_relation,
    _slice_like,
    SliceLikeAttrs,
    pattern=INJECTIVE,
    moves=True,
)
def slice_like(data: Expr, shape_like: Expr, axes: Ints | None = None) -> Call:
    """Pick the first elements along axes, as many as another tensor has."""
    ...


class ReverseAttrs(Attrs, frozen=True):
    """Attributes of `reverse`."""

    axis: int


def _reverse(attrs: ReverseAttrs, data: Array) -> Array:
    return np.flip(data, attrs.axis)


@operator(
    "reverse", axis_identity, _reverse, ReverseAttrs, pattern=INJECTIVE, moves=True
)
def reverse(data: Expr, axis: int) -> Call:
    """Return the elements along an axis from last to first."""
    ...


class RepeatAttrs(Attrs, frozen=True):
    """Attributes of `repeat`; without an axis the tensor is flattened."""

    repeats: int
    axis: int | None = None

    def check(self) -> None:
        """Reject a number of repetitions below 1."""
        if self.repeats < 1:
            raise IRTypeError(f"expected one repeat or more, got {self.repeats}")


def _repeat_relation(types: Sequence[Type], attrs: RepeatAttrs) -> TensorType:
    (data,) = tensors(types)
    if attrs.axis is None:
        return TensorType((product((*data.shape, attrs.repeats)),), data.dtype)
    axis = normal_axis(attrs.axis, len(data.shape))
    dim = product((data.shape[axis], attrs.repeats))
    return TensorType((*data.shape[:axis], dim, *data.shape[axis + 1 :]), data.dtype)


def _repeat(attrs: RepeatAttrs, data: Array) -> Array:
    return np.repeat(data, attrs.repeats, attrs.axis)


@operator(
    "repeat", _repeat_relation, _repeat, RepeatAttrs, pattern=BROADCAST, moves=True
)
def repeat(data: Expr, repeats: int, axis: int | None = None) -> Call:
    """Repeat each element, or each slice along an axis, in place."""
    ...


class TileAttrs(Attrs, frozen=True):
    """Attributes of `tile`."""

    reps: IntTuple

    def check(self) -> None:
        """Reject a number of repetitions below 1."""
        if any(count < 1 for count in self.reps):
            raise IRTypeError(f"expected repetitions of 1 or more, got {self.reps}")


def _tile_relation(types: Sequence[Type], attrs: TileAttrs) -> TensorType:
    (data,) = tensors(types)
    rank = max(len(data.shape), len(attrs.reps))
    dims = (1,) * (rank - len(data.shape)) + data.shape
    reps = (1,) * (rank - len(attrs.reps)) + attrs.reps
    pairs = zip(dims, reps, strict=True)
    return TensorType(tuple(product(pair) for pair in pairs), data.dtype)


def _tile(attrs: TileAttrs, data: Array) -> Array:
    return np.tile(data, attrs.reps)


@operator("tile", _tile_relation, _tile, TileAttrs, pattern=BROADCAST, moves=True)
def tile(data: Expr, reps: Ints | Expr) -> Call:
    """Repeat the whole tensor along each of its last axes."""
    ...
