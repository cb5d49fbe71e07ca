"""Operators to whose result the program says the shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op_table import OpPattern, TypeRelationError
from parpass.ir.ty import TensorType, Type
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.attributes import optional_dtype, require_choice
from parpass.relay.op.build import call_op
from parpass.relay.op.create import full
from parpass.relay.op.dyn.counterpart import (
    UNKNOWN,
    ints_of,
    length,
    register_dynamic,
)
from parpass.relay.op.nn.pad import pad
from parpass.relay.op.relations import require_rank, tensors
from parpass.relay.op.reshape import reshape
from parpass.relay.op.select import tile
from parpass.relay.op.shape import broadcast_to, expand_dims, squeeze

Array = npt.NDArray[Any]


class DynReshapeAttrs(Attrs, frozen=True):
    """Attributes of `dyn.reshape`."""

    allowzero: bool = False


def _reshape_relation(types: Sequence[Type], _attrs: DynReshapeAttrs) -> TensorType:
    data, newshape = tensors(types)
    return TensorType((UNKNOWN,) * length(newshape, "the new shape"), data.dtype)


def _static_reshape(attrs: DynReshapeAttrs, data: Expr, newshape: Array) -> Call:
    dims = ints_of(newshape)
    if -2 in dims or -4 in dims:
        raise IRTypeError(f"expected no -2 or -4, which change the rank, got {dims}")
    return reshape(data, dims, attrs.allowzero)


_RESHAPE = register_dynamic(
    "dyn.reshape",
    2,
    _reshape_relation,
    _static_reshape,
    DynReshapeAttrs,
    pattern=OpPattern.INJECTIVE,
    moves=True,
)


def dyn_reshape(data: Expr, newshape: Expr, allowzero: bool = False) -> Call:
    """Arrange the elements in another shape, as `reshape` does without -2 and -4."""
    return call_op(_RESHAPE, (data, newshape), DynReshapeAttrs(allowzero=allowzero))


def _squeeze_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, axes = tensors(types)
    rank = len(data.shape) - length(axes, "the axes")
    if rank < 0:
        raise TypeRelationError(f"expected up to {len(data.shape)} axes, got {axes}")
    return TensorType((UNKNOWN,) * rank, data.dtype)


def _static_squeeze(_attrs: None, data: Expr, axes: Array) -> Call:
    return squeeze(data, ints_of(axes))


_SQUEEZE = register_dynamic(
    "dyn.squeeze",
    2,
    _squeeze_relation,
    _static_squeeze,
    pattern=OpPattern.INJECTIVE,
    moves=True,
)


def dyn_squeeze(data: Expr, axes: Expr) -> Call:
    """Take out the dimensions of length 1 that are named."""
    return call_op(_SQUEEZE, (data, axes))


class DynExpandDimsAttrs(Attrs, frozen=True):
    """Attributes of `dyn.expand_dims`."""

    num_newaxis: int = 1


def _expand_dims_relation(
    types: Sequence[Type], attrs: DynExpandDimsAttrs
) -> TensorType:
    data, axis = tensors(types)
    require_rank(axis, 0, "the axis")
    return TensorType((UNKNOWN,) * (len(data.shape) + attrs.num_newaxis), data.dtype)


def _static_expand_dims(attrs: DynExpandDimsAttrs, data: Expr, axis: Array) -> Call:
    return expand_dims(data, int(axis), attrs.num_newaxis)


_EXPAND_DIMS = register_dynamic(
    "dyn.expand_dims",
    2,
    _expand_dims_relation,
    _static_expand_dims,
    DynExpandDimsAttrs,
    pattern=OpPattern.INJECTIVE,
    moves=True,
)


def dyn_expand_dims(data: Expr, axis: Expr, num_newaxis: int = 1) -> Call:
    """Insert dimensions of length 1 before an axis."""
    attrs = DynExpandDimsAttrs(num_newaxis=num_newaxis)
    return call_op(_EXPAND_DIMS, (data, axis), attrs)


def _broadcast_to_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, wanted = tensors(types)
    return TensorType((UNKNOWN,) * length(wanted, "the shape"), data.dtype)


def _static_broadcast_to(_attrs: None, data: Expr, wanted: Array) -> Call:
    return broadcast_to(data, ints_of(wanted))


_BROADCAST_TO = register_dynamic(
    "dyn.broadcast_to",
    2,
    _broadcast_to_relation,
    _static_broadcast_to,
    pattern=OpPattern.BROADCAST,
    moves=True,
)


def dyn_broadcast_to(data: Expr, shape: Expr) -> Call:
    """Repeat dimensions of length 1 to fill a shape."""
    return call_op(_BROADCAST_TO, (data, shape))


def _tile_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, reps = tensors(types)
    rank = max(len(data.shape), length(reps, "the repetitions"))
    return TensorType((UNKNOWN,) * rank, data.dtype)


def _static_tile(_attrs: None, data: Expr, reps: Array) -> Call:
    return tile(data, ints_of(reps))


_TILE = register_dynamic(
    "dyn.tile",
    2,
    _tile_relation,
    _static_tile,
    pattern=OpPattern.INJECTIVE,
    moves=True,
)


def dyn_tile(data: Expr, reps: Expr) -> Call:
    """Repeat the whole tensor along each of its last axes."""
    return call_op(_TILE, (data, reps))


class DynFullAttrs(Attrs, frozen=True):
    """Attributes of `dyn.full`; an empty dtype means the value's."""

    dtype: str = ""


def _full_relation(types: Sequence[Type], attrs: DynFullAttrs) -> TensorType:
    value, wanted = tensors(types)
    require_rank(value, 0, "the fill value")
    dims = (UNKNOWN,) * length(wanted, "the shape")
    return TensorType(dims, attrs.dtype or value.dtype)


def _static_full(attrs: DynFullAttrs, value: Expr, wanted: Array) -> Call:
    return full(value, ints_of(wanted), attrs.dtype)


_FULL = register_dynamic(
    "dyn.full",
    2,
    _full_relation,
    _static_full,
    DynFullAttrs,
    pattern=OpPattern.ELEMWISE,
)


def dyn_full(fill_value: Operand, shape: Expr, dtype: str = "") -> Call:
    """Return a tensor of one value; without a dtype it has the value's."""
    attrs = DynFullAttrs(dtype=optional_dtype(dtype))
    return call_op(_FULL, (fill_value, shape), attrs)


class DynPadAttrs(Attrs, frozen=True):
    """Attributes of `dyn.nn.pad`."""

    pad_mode: str = "constant"


def _pad_relation(types: Sequence[Type], _attrs: DynPadAttrs) -> TensorType:
    data, widths, value = tensors(types)
    require_rank(widths, 2, "the widths")
    require_rank(value, 0, "the pad value")
    return TensorType((UNKNOWN,) * len(data.shape), data.dtype)


def _static_pad(attrs: DynPadAttrs, data: Expr, widths: Array, value: Expr) -> Call:
    return pad(data, widths.tolist(), value, attrs.pad_mode)


_PAD = register_dynamic(
    "dyn.nn.pad",
    3,
    _pad_relation,
    _static_pad,
    DynPadAttrs,
    pattern=OpPattern.INJECTIVE,
)


def dyn_pad(
    data: Expr, pad_width: Expr, pad_value: Operand = 0, pad_mode: str = "constant"
) -> Call:
    """Add elements before and after those of each axis; a row of widths for each."""
    mode = require_choice(pad_mode, ("constant", "edge", "reflect"), "pad_mode")
    return call_op(_PAD, (data, pad_width, pad_value), DynPadAttrs(pad_mode=mode))
