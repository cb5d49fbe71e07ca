"""Operators that rearrange dimensions, or tell about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, TypeRelationError, register_op
from parpass.ir.ty import Any as UnknownDim
from parpass.ir.ty import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.attributes import Ints, dtype_name, int_tuple, optional_int_tuple
from parpass.relay.op.build import call_op
from parpass.relay.op.relations import (
    Shape,
    agree,
    normal_axes,
    normal_axis,
    shape_text,
    tensors,
)

Array = npt.NDArray[Any]


class TransposeAttrs(Attrs, frozen=True):
    """Attributes of `transpose`; without axes their order is reversed."""

    axes: tuple[int, ...] | None = None


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


_TRANSPOSE = register_op(
    Op(
        "transpose",
        1,
        _transpose_relation,
        _transpose,
        TransposeAttrs,
        pattern=OpPattern.INJECTIVE,
        moves=True,
    )
)


def transpose(data: Expr, axes: Ints | None = None) -> Call:
    """Return the dimensions in another order, by default the reverse."""
    attrs = TransposeAttrs(axes=optional_int_tuple(axes, "axes"))
    return call_op(_TRANSPOSE, (data,), attrs)


class ExpandDimsAttrs(Attrs, frozen=True):
    """Attributes of `expand_dims`."""

    axis: int
    num_newaxis: int = 1


def _expand_dims_relation(types: Sequence[Type], attrs: ExpandDimsAttrs) -> TensorType:
    (data,) = tensors(types)
    at = normal_axis(attrs.axis, len(data.shape) + 1)
    new = (1,) * attrs.num_newaxis
    return TensorType((*data.shape[:at], *new, *data.shape[at:]), data.dtype)


def _expand_dims(attrs: ExpandDimsAttrs, data: Array) -> Array:
    at = normal_axis(attrs.axis, data.ndim + 1)
    return np.expand_dims(data, tuple(range(at, at + attrs.num_newaxis)))


_EXPAND_DIMS = register_op(
    Op(
        "expand_dims",
        1,
        _expand_dims_relation,
        _expand_dims,
        ExpandDimsAttrs,
        pattern=OpPattern.BROADCAST,
        moves=True,
    )
)


def expand_dims(data: Expr, axis: int, num_newaxis: int = 1) -> Call:
    """Insert dimensions of length 1 before an axis."""
    if num_newaxis < 0:
        raise IRTypeError(f"expected num_newaxis from 0 on, got {num_newaxis}")
    attrs = ExpandDimsAttrs(axis=axis, num_newaxis=num_newaxis)
    return call_op(_EXPAND_DIMS, (data,), attrs)


class SqueezeAttrs(Attrs, frozen=True):
    """Attributes of `squeeze`; without an axis all dimensions of 1 go."""

    axis: tuple[int, ...] | None = None


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


_SQUEEZE = register_op(
    Op(
        "squeeze",
        1,
        _squeeze_relation,
        _squeeze,
        SqueezeAttrs,
        pattern=OpPattern.INJECTIVE,
        moves=True,
    )
)


def squeeze(data: Expr, axis: Ints | None = None) -> Call:
    """Take out dimensions of length 1: those named, or all."""
    attrs = SqueezeAttrs(axis=optional_int_tuple(axis, "axis"))
    return call_op(_SQUEEZE, (data,), attrs)


class BroadcastToAttrs(Attrs, frozen=True):
    """Attributes of `broadcast_to`."""

    shape: tuple[int, ...]


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


_BROADCAST_TO = register_op(
    Op(
        "broadcast_to",
        1,
        _broadcast_to_relation,
        _broadcast_to,
        BroadcastToAttrs,
        pattern=OpPattern.BROADCAST,
        moves=True,
    )
)


def broadcast_to(data: Expr, shape: Ints) -> Call:
    """Repeat dimensions of length 1 to fill a shape."""
    attrs = BroadcastToAttrs(shape=int_tuple(shape, "shape"))
    return call_op(_BROADCAST_TO, (data,), attrs)


def _broadcast_to_like_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, like = tensors(types)
    require_broadcast(data, like.shape)
    return TensorType(like.shape, data.dtype)


def _broadcast_to_like(_attrs: None, data: Array, like: Array) -> Array:
    return np.broadcast_to(data, like.shape)


_BROADCAST_TO_LIKE = register_op(
    Op(
        "broadcast_to_like",
        2,
        _broadcast_to_like_relation,
        _broadcast_to_like,
        pattern=OpPattern.BROADCAST,
        moves=True,
    )
)


def broadcast_to_like(data: Expr, broadcast_type: Expr) -> Call:
    """Repeat dimensions of length 1 to fill the shape of another tensor."""
    return call_op(_BROADCAST_TO_LIKE, (data, broadcast_type))


class ShapeOfAttrs(Attrs, frozen=True):
    """Attributes of `shape_of`, `vm.shape_of` and `ndarray_size`."""

    dtype: str


def _shape_of_relation(types: Sequence[Type], attrs: ShapeOfAttrs) -> TensorType:
    (data,) = tensors(types)
    return TensorType((len(data.shape),), attrs.dtype)


def _shape_of(attrs: ShapeOfAttrs, data: Array) -> Array:
    return np.array(data.shape, attrs.dtype)


_SHAPE_OF = register_op(Op("shape_of", 1, _shape_of_relation, _shape_of, ShapeOfAttrs))
_VM_SHAPE_OF = register_op(
    Op("vm.shape_of", 1, _shape_of_relation, _shape_of, ShapeOfAttrs)
)


def shape_of(data: Expr, dtype: str = "int32") -> Call:
    """Return the shape as a tensor."""
    return call_op(_SHAPE_OF, (data,), ShapeOfAttrs(dtype=dtype_name(dtype)))


def vm_shape_of(data: Expr, dtype: str = "int64") -> Call:
    """Return the shape as a tensor; `relay.op.vm.shape_of` in TVM."""
    return call_op(_VM_SHAPE_OF, (data,), ShapeOfAttrs(dtype=dtype_name(dtype)))


def _ndarray_size_relation(types: Sequence[Type], attrs: ShapeOfAttrs) -> TensorType:
    tensors(types)
    return TensorType((), attrs.dtype)


def _ndarray_size(attrs: ShapeOfAttrs, data: Array) -> Array:
    return np.array(math.prod(data.shape), attrs.dtype)


_NDARRAY_SIZE = register_op(
    Op(
        "ndarray_size",
        1,
        _ndarray_size_relation,
        _ndarray_size,
        ShapeOfAttrs,
        pattern=OpPattern.INJECTIVE,
    )
)


def ndarray_size(data: Expr, dtype: str = "int32") -> Call:
    """Return the number of elements."""
    return call_op(_NDARRAY_SIZE, (data,), ShapeOfAttrs(dtype=dtype_name(dtype)))
