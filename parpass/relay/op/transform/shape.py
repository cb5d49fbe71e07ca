"""Operators that rearrange, broadcast or query dimensions, and change layouts.

Gradients use `collapse_sum_to` and `collapse_sum_like`, which undo a broadcast by sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import DType, Ints, IntTuple
from parpass.relay.op.declaration.build import (
    BROADCAST,
    COMM_REDUCE,
    INJECTIVE,
    operator,
)
from parpass.relay.op.declaration.layout import (
    Layout,
    transform_layout,
    transformed_shape,
)
from parpass.relay.op.declaration.type_relations import (
    Shape,
    agree,
    normal_axes,
    normal_axis,
    require_number,
    shape_text,
    tensors,
)
from parpass.runtime.dtypes import converted

__all__ = [
    "broadcast_to",
    "broadcast_to_like",
    "collapse_sum_like",
    "collapse_sum_to",
    "expand_dims",
    "layout_transform",
    "ndarray_size",
    "shape_of",
    "squeeze",
    "transpose",
]


class TransposeAttrs(Attrs, frozen=True):
    """Attributes of `transpose`; without axes their order is reversed."""

    axes: IntTuple | None = None


def _transpose_relation(types: Sequence[Type], attrs: TransposeAttrs) -> TensorType:
    (data,) = tensors(types)
    if attrs.axes is None:
        return TensorType(data.shape[::-1], data.dtype)
    axes = normal_axes(attrs.axes, len(data.shape))
    if len(axes) != len(data.shape):
        raise TypeRelationError(f"expected {len(data.shape)} axes, got {attrs.axes}")
    return TensorType(tuple(data.shape[axis] for axis in axes), data.dtype)


def _transpose(attrs: TransposeAttrs, data: Array) -> Array:
    return data.transpose(attrs.axes)


@operator(
    "transpose",
    _transpose_relation,
    _transpose,
    TransposeAttrs,
    pattern=INJECTIVE,
    moves=True,
)
def transpose(data: Expr, axes: Ints | None = None) -> Call:
    """Permute the dimensions, by default in reverse."""
    ...


class ExpandDimsAttrs(Attrs, frozen=True):
    """Attributes of `expand_dims`."""

    axis: int
    num_newaxis: int = 1

    def check(self) -> None:
        """Reject a number below 0."""
        if self.num_newaxis < 0:
            raise IRTypeError(f"expected num_newaxis from 0 on, got {self.num_newaxis}")


def _expand_dims_relation(types: Sequence[Type], attrs: ExpandDimsAttrs) -> TensorType:
    (data,) = tensors(types)
    at = normal_axis(attrs.axis, len(data.shape) + 1)
    new = (1,) * attrs.num_newaxis
    return TensorType((*data.shape[:at], *new, *data.shape[at:]), data.dtype)


def _expand_dims(attrs: ExpandDimsAttrs, data: Array) -> Array:
    at = normal_axis(attrs.axis, data.ndim + 1)
    new = (1,) * attrs.num_newaxis
    return data.reshape((*data.shape[:at], *new, *data.shape[at:]))


@operator(
    "expand_dims",
    _expand_dims_relation,
    _expand_dims,
    ExpandDimsAttrs,
    pattern=BROADCAST,
    moves=True,
)
def expand_dims(data: Expr, axis: int | Expr, num_newaxis: int = 1) -> Call:
    """Insert dimensions of length 1 before an axis."""
    ...


class SqueezeAttrs(Attrs, frozen=True):
    """Attributes of `squeeze`; without an axis all dimensions of length 1 go."""

    axis: IntTuple | None = None


def _squeeze_relation(types: Sequence[Type], attrs: SqueezeAttrs) -> TensorType:
    (data,) = tensors(types)
    if attrs.axis is None:
        if any(isinstance(dim, UnknownDim) for dim in data.shape):
            raise TypeRelationError(f"expected the axis to squeeze from {data}")
        dims = tuple(dim for dim in data.shape if dim != 1)
        return TensorType(dims, data.dtype)
    axes = normal_axes(attrs.axis, len(data.shape))
    if not all(agree(data.shape[axis], 1) for axis in axes):
        raise TypeRelationError(
            f"expected length 1 at the axes {attrs.axis} to squeeze, got {data}"
        )
    dims = tuple(dim for axis, dim in enumerate(data.shape) if axis not in axes)
    return TensorType(dims, data.dtype)


def _squeeze(attrs: SqueezeAttrs, data: Array) -> Array:
    return np.squeeze(data, attrs.axis)


@operator(
    "squeeze", _squeeze_relation, _squeeze, SqueezeAttrs, pattern=INJECTIVE, moves=True
)
def squeeze(data: Expr, axis: Ints | Expr | None = None) -> Call:
    """Remove dimensions of length 1: those named, or all."""
    ...


class BroadcastToAttrs(Attrs, frozen=True):
    """Attributes of `broadcast_to`."""

    shape: IntTuple


def require_broadcast(data: TensorType, shape: Shape) -> None:
    """Reject a tensor that does not broadcast to a shape."""
    aligned = shape[max(len(shape) - len(data.shape), 0) :]
    fits = len(data.shape) <= len(shape) and all(
        agree(dim, wanted) or dim == 1
        for dim, wanted in zip(data.shape, aligned, strict=True)
    )
    if not fits:
        raise TypeRelationError(
            f"expected a shape that broadcasts to {shape_text(shape)}, got {data}"
        )


def _broadcast_to_relation(
    types: Sequence[Type], attrs: BroadcastToAttrs
) -> TensorType:
    (data,) = tensors(types)
    require_broadcast(data, attrs.shape)
    return TensorType(attrs.shape, data.dtype)


def _broadcast_to(attrs: BroadcastToAttrs, data: Array) -> Array:
    return np.broadcast_to(data, attrs.shape)


@operator(
    "broadcast_to",
    _broadcast_to_relation,
    _broadcast_to,
    BroadcastToAttrs,
    pattern=BROADCAST,
    moves=True,
)
def broadcast_to(data: Expr, shape: Ints | Expr) -> Call:
    """Repeat dimensions of length 1 to fill a shape."""
    ...


def _broadcast_to_like_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, like = tensors(types)
    require_broadcast(data, like.shape)
    return TensorType(like.shape, data.dtype)


def _broadcast_to_like(_attrs: None, data: Array, like: Array) -> Array:
    return np.broadcast_to(data, like.shape)


@operator(
    "broadcast_to_like",
    _broadcast_to_like_relation,
    _broadcast_to_like,
    pattern=BROADCAST,
    moves=True,
)
def broadcast_to_like(data: Expr, broadcast_type: Expr) -> Call:
    """Repeat dimensions of length 1 to fill the shape of another tensor."""
    ...


class ShapeOfAttrs(Attrs, frozen=True):
    """Attributes of `shape_of`, `vm.shape_of` and `ndarray_size`."""

    dtype: DType


def _shape_of_relation(types: Sequence[Type], attrs: ShapeOfAttrs) -> TensorType:
    (data,) = tensors(types)
    return TensorType((len(data.shape),), attrs.dtype)


def _shape_of(attrs: ShapeOfAttrs, data: Array) -> Array:
    return converted(np.array(data.shape, "int64"), attrs.dtype)


@operator("shape_of", _shape_of_relation, _shape_of, ShapeOfAttrs)
def shape_of(data: Expr, dtype: str = "int32") -> Call:
    """Return the shape as a tensor; lengths beyond the dtype wrap around."""
    ...


@operator("vm.shape_of", _shape_of_relation, _shape_of, ShapeOfAttrs)
def vm_shape_of(data: Expr, dtype: str = "int64") -> Call:
    """Return the shape as a tensor; `relay.op.vm.shape_of` in TVM."""
    ...


def _ndarray_size_relation(types: Sequence[Type], attrs: ShapeOfAttrs) -> TensorType:
    tensors(types)
    return TensorType((), attrs.dtype)


def _ndarray_size(attrs: ShapeOfAttrs, data: Array) -> Array:
    return converted(np.array(math.prod(data.shape), "int64"), attrs.dtype)


@operator(
    "ndarray_size",
    _ndarray_size_relation,
    _ndarray_size,
    ShapeOfAttrs,
    pattern=INJECTIVE,
)
def ndarray_size(data: Expr, dtype: str = "int32") -> Call:
    """Return the number of elements; one beyond the dtype wraps around."""
    ...


def _collapsed(data: Array, shape: tuple[int, ...]) -> Array:
    more = data.ndim - len(shape)
    # Also along axes of length 1, which changes nothing.
    axes = [*range(more), *(more + at for at, dim in enumerate(shape) if dim == 1)]
    total = data.sum(axis=tuple(axes), keepdims=True, dtype=data.dtype)
    return total.reshape(shape)


def _like_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, like = tensors(types)
    require_number(data)
    require_broadcast(TensorType(like.shape, data.dtype), data.shape)
    return TensorType(like.shape, data.dtype)


def _like(_attrs: None, data: Array, like: Array) -> Array:
    return _collapsed(data, like.shape)


@operator("collapse_sum_like", _like_relation, _like, pattern=COMM_REDUCE)
def collapse_sum_like(data: Expr, collapse_type: Expr) -> Call:
    """Sum along the axes that broadcasting to `data` repeats in another tensor."""
    ...


class CollapseSumToAttrs(Attrs, frozen=True):
    """Attributes of `collapse_sum_to`."""

    shape: IntTuple


def _to_relation(types: Sequence[Type], attrs: CollapseSumToAttrs) -> TensorType:
    (data,) = tensors(types)
    require_number(data)
    result = TensorType(attrs.shape, data.dtype)
    require_broadcast(result, data.shape)
    return result


def _to(attrs: CollapseSumToAttrs, data: Array) -> Array:
    return _collapsed(data, attrs.shape)


@operator("collapse_sum_to", _to_relation, _to, CollapseSumToAttrs, pattern=COMM_REDUCE)
def collapse_sum_to(data: Expr, shape: Ints) -> Call:
    """Sum along the axes that broadcasting a tensor of this shape repeats."""
    ...


class LayoutTransformAttrs(Attrs, frozen=True):
    """Attributes of `layout_transform`."""

    src_layout: str
    dst_layout: str

    def check(self) -> None:
        """Reject layouts of different axes."""
        source, target = Layout.of(self.src_layout), Layout.of(self.dst_layout)
        if not source.has(target.primal):
            raise IRTypeError(
                f"expected layouts of the same axes, got '{self.src_layout}' and "
                f"'{self.dst_layout}'"
            )


def _layout_transform_relation(
    types: Sequence[Type], attrs: LayoutTransformAttrs
) -> TensorType:
    (data,) = tensors(types)
    shape = transformed_shape(data.shape, attrs.src_layout, attrs.dst_layout)
    return TensorType(shape, data.dtype)


def _layout_transform(attrs: LayoutTransformAttrs, data: Array) -> Array:
    return transform_layout(data, attrs.src_layout, attrs.dst_layout)


@operator(
    "layout_transform",
    _layout_transform_relation,
    _layout_transform,
    LayoutTransformAttrs,
    pattern=INJECTIVE,
    moves=True,
)
def layout_transform(data: Expr, src_layout: str, dst_layout: str) -> Call:
    """Store a tensor in another layout, such as NCHW as NHWC, or NCHW16c."""
    ...
