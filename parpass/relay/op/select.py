"""Operators that pick elements of a tensor, or repeat them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, TypeRelationError, register_op
from parpass.ir.ty import Any as UnknownDim
from parpass.ir.ty import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.attributes import (
    Ints,
    int_tuple,
    optional_int_tuple,
    require_choice,
)
from parpass.relay.op.build import call_op
from parpass.relay.op.relations import (
    Shape,
    normal_axes,
    normal_axis,
    product,
    tensors,
)

Array = npt.NDArray[Any]


class StridedSliceAttrs(Attrs, frozen=True):
    """Attributes of `strided_slice`.

    Attributes:
        end: Where each slice ends; in the slice mode `size` how long it is, -1 for
            all that is left.
        axes: The axes to slice; None for the first ones.
    """

    begin: tuple[int, ...]
    end: tuple[int, ...]
    strides: tuple[int, ...]
    slice_mode: str = "end"
    axes: tuple[int, ...] | None = None


def _slices(attrs: StridedSliceAttrs, shape: Shape) -> list[slice]:
    axes = range(len(attrs.begin)) if attrs.axes is None else attrs.axes
    slices = [slice(None)] * len(shape)
    for at, axis in enumerate(normal_axes(axes, len(shape))):
        begin, end = attrs.begin[at], attrs.end[at]
        if attrs.slice_mode == "end":
            stride = attrs.strides[at] if at < len(attrs.strides) else 1
            slices[axis] = slice(begin, end, stride)
        else:
            dim = shape[axis]
            if begin < 0 and isinstance(dim, int):
                begin += dim
            slices[axis] = slice(begin, None if end < 0 else begin + end)
    return slices


def _sliced(dim: Dim, part: slice) -> Dim:
    if isinstance(dim, UnknownDim) or part == slice(None):
        return dim
    return len(range(*part.indices(dim)))


def _strided_slice_relation(
    types: Sequence[Type], attrs: StridedSliceAttrs
) -> TensorType:
    (data,) = tensors(types)
    slices = _slices(attrs, data.shape)
    return TensorType(tuple(map(_sliced, data.shape, slices)), data.dtype)


def _strided_slice(attrs: StridedSliceAttrs, data: Array) -> Array:
    return data[tuple(_slices(attrs, data.shape))]


_STRIDED_SLICE = register_op(
    Op(
        "strided_slice",
        1,
        _strided_slice_relation,
        _strided_slice,
        StridedSliceAttrs,
        pattern=OpPattern.INJECTIVE,
        moves=True,
    )
)


def strided_slice(
    data: Expr,
    begin: Ints,
    end: Ints,
    strides: Ints | None = None,
    axes: Ints | None = None,
    slice_mode: str = "end",
) -> Call:
    """Pick a range with a stride along each of some axes.

    Raises:
        IRTypeError: `begin`, `end`, `strides` and `axes` do not go together.
    """
    attrs = StridedSliceAttrs(
        begin=int_tuple(begin, "begin"),
        end=int_tuple(end, "end"),
        strides=(1,) if strides is None else int_tuple(strides, "strides"),
        slice_mode=require_choice(slice_mode, ("end", "size"), "slice_mode"),
        axes=optional_int_tuple(axes, "axes"),
    )
    count = len(attrs.begin)
    if len(attrs.end) != count or len(attrs.axes or attrs.begin) != count:
        raise IRTypeError(
            f"expected as many ends and axes as begins, got begin {attrs.begin}, "
            f"end {attrs.end} and axes {attrs.axes}"
        )
    if 0 in attrs.strides:
        raise IRTypeError(f"expected strides other than 0, got {attrs.strides}")
    return call_op(_STRIDED_SLICE, (data,), attrs)


class SliceLikeAttrs(Attrs, frozen=True):
    """Attributes of `slice_like`; without axes all those of the other tensor count."""

    axes: tuple[int, ...] | None = None


def _slice_like_axes(attrs: SliceLikeAttrs, rank: int, like: int) -> tuple[int, ...]:
    axes = tuple(range(like)) if attrs.axes is None else attrs.axes
    normal_axes(axes, min(rank, like))
    return normal_axes(axes, rank)


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


_SLICE_LIKE = register_op(
    Op(
        "slice_like",
        2,
        _slice_like_relation,
        _slice_like,
        SliceLikeAttrs,
        pattern=OpPattern.INJECTIVE,
        moves=True,
    )
)


def slice_like(data: Expr, shape_like: Expr, axes: Ints | None = None) -> Call:
    """Pick the first elements along axes, as many as another tensor has."""
    attrs = SliceLikeAttrs(axes=optional_int_tuple(axes, "axes"))
    return call_op(_SLICE_LIKE, (data, shape_like), attrs)


class ReverseAttrs(Attrs, frozen=True):
    """Attributes of `reverse`."""

    axis: int


def _reverse_relation(types: Sequence[Type], attrs: ReverseAttrs) -> TensorType:
    (data,) = tensors(types)
    normal_axis(attrs.axis, len(data.shape))
    return data


def _reverse(attrs: ReverseAttrs, data: Array) -> Array:
    return np.flip(data, attrs.axis)


_REVERSE = register_op(
    Op(
        "reverse",
        1,
        _reverse_relation,
        _reverse,
        ReverseAttrs,
        pattern=OpPattern.INJECTIVE,
        moves=True,
    )
)


def reverse(data: Expr, axis: int) -> Call:
    """Return the elements along an axis from last to first."""
    return call_op(_REVERSE, (data,), ReverseAttrs(axis=axis))


class RepeatAttrs(Attrs, frozen=True):
    """Attributes of `repeat`; without an axis the tensor is flattened."""

    repeats: int
    axis: int | None = None


def _repeat_relation(types: Sequence[Type], attrs: RepeatAttrs) -> TensorType:
    (data,) = tensors(types)
    if attrs.axis is None:
        return TensorType((product((*data.shape, attrs.repeats)),), data.dtype)
    axis = normal_axis(attrs.axis, len(data.shape))
    dim = product((data.shape[axis], attrs.repeats))
    return TensorType((*data.shape[:axis], dim, *data.shape[axis + 1 :]), data.dtype)


def _repeat(attrs: RepeatAttrs, data: Array) -> Array:
    return np.repeat(data, attrs.repeats, attrs.axis)


_REPEAT = register_op(
    Op(
        "repeat",
        1,
        _repeat_relation,
        _repeat,
        RepeatAttrs,
        pattern=OpPattern.BROADCAST,
        moves=True,
    )
)


def repeat(data: Expr, repeats: int, axis: int | None = None) -> Call:
    """Repeat each element, or each slice along an axis, in place."""
    if repeats < 1:
        raise IRTypeError(f"expected one repeat or more, got {repeats}")
    return call_op(_REPEAT, (data,), RepeatAttrs(repeats=repeats, axis=axis))


class TileAttrs(Attrs, frozen=True):
    """Attributes of `tile`."""

    reps: tuple[int, ...]


def _tile_relation(types: Sequence[Type], attrs: TileAttrs) -> TensorType:
    (data,) = tensors(types)
    rank = max(len(data.shape), len(attrs.reps))
    dims = (1,) * (rank - len(data.shape)) + data.shape
    reps = (1,) * (rank - len(attrs.reps)) + attrs.reps
    pairs = zip(dims, reps, strict=True)
    return TensorType(tuple(product(pair) for pair in pairs), data.dtype)


def _tile(attrs: TileAttrs, data: Array) -> Array:
    return np.tile(data, attrs.reps)


_TILE = register_op(
    Op(
        "tile",
        1,
        _tile_relation,
        _tile,
        TileAttrs,
        pattern=OpPattern.BROADCAST,
        moves=True,
    )
)


def tile(data: Expr, reps: Ints) -> Call:
    """Repeat the whole tensor along each of its last axes."""
    counts = int_tuple(reps, "reps")
    if any(count < 1 for count in counts):
        raise IRTypeError(f"expected repetitions of 1 or more, got {counts}")
    return call_op(_TILE, (data,), TileAttrs(reps=counts))
