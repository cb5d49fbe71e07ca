"""Operators to whose result the program says the shape."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import TypeRelationError
from parpass.ir.types.ty import TensorType, Type
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.declaration.attributes import Ints, MaybeDType, int_tuple
from parpass.relay.op.declaration.build import DYNAMIC_FORMS, INJECTIVE
from parpass.relay.op.declaration.relations import (
    require_integer,
    require_rank,
    tensors,
)
from parpass.relay.op.dyn.counterpart import UNKNOWN, dynamic, length
from parpass.relay.op.nn.padding import PadMode, pad
from parpass.relay.op.tensor.create import full
from parpass.relay.op.transform.reshaping import reshape
from parpass.relay.op.transform.scatter import sparse_to_dense
from parpass.relay.op.transform.select import tile
from parpass.relay.op.transform.shape import broadcast_to, expand_dims, squeeze


class DynReshapeAttrs(Attrs, frozen=True):
    """Attributes of `dyn.reshape`."""

    allowzero: bool = False


def _reshape_relation(types: Sequence[Type], _attrs: DynReshapeAttrs) -> TensorType:
    data, newshape = tensors(types)
    return TensorType((UNKNOWN,) * length(newshape, "the new shape"), data.dtype)


def _of_known_rank(data: Expr, newshape: Ints, allowzero: bool) -> Call:
    dims = int_tuple(newshape, "newshape")
    if -2 in dims or -4 in dims:
        raise IRTypeError(f"expected no -2 or -4, which change the rank, got {dims}")
    return reshape(data, dims, allowzero)


@dynamic("dyn.reshape", _of_known_rank, _reshape_relation, DynReshapeAttrs)
def dyn_reshape(data: Expr, newshape: Expr, allowzero: bool = False) -> Call:
    """Arrange the elements in another shape, as `reshape` does without -2 and -4."""
    ...


def _squeeze_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, axes = tensors(types)
    rank = len(data.shape) - length(axes, "the axes")
    if rank < 0:
        raise TypeRelationError(f"expected up to {len(data.shape)} axes, got {axes}")
    return TensorType((UNKNOWN,) * rank, data.dtype)


@dynamic("dyn.squeeze", squeeze, _squeeze_relation)
def dyn_squeeze(data: Expr, axes: Expr) -> Call:
    """Take out the dimensions of length 1 that are named."""
    ...


class DynExpandDimsAttrs(Attrs, frozen=True):
    """Attributes of `dyn.expand_dims`."""

    num_newaxis: int = 1


def _expand_dims_relation(
    types: Sequence[Type], attrs: DynExpandDimsAttrs
) -> TensorType:
    data, axis = tensors(types)
    require_rank(axis, 0, "the axis")
    return TensorType((UNKNOWN,) * (len(data.shape) + attrs.num_newaxis), data.dtype)


@dynamic(
    "dyn.expand_dims",
    expand_dims,
    _expand_dims_relation,
    DynExpandDimsAttrs,
    pattern=INJECTIVE,
)
def dyn_expand_dims(data: Expr, axis: Expr, num_newaxis: int = 1) -> Call:
    """Insert dimensions of length 1 before an axis."""
    ...


def _broadcast_to_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, wanted = tensors(types)
    return TensorType((UNKNOWN,) * length(wanted, "the shape"), data.dtype)


@dynamic("dyn.broadcast_to", broadcast_to, _broadcast_to_relation)
def dyn_broadcast_to(data: Expr, shape: Expr) -> Call:
    """Repeat dimensions of length 1 to fill a shape."""
    ...


def _tile_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, reps = tensors(types)
    rank = max(len(data.shape), length(reps, "the repetitions"))
    return TensorType((UNKNOWN,) * rank, data.dtype)


@dynamic("dyn.tile", tile, _tile_relation, pattern=INJECTIVE)
def dyn_tile(data: Expr, reps: Expr) -> Call:
    """Repeat the whole tensor along each of its last axes."""
    ...


class DynFullAttrs(Attrs, frozen=True):
    """Attributes of `dyn.full`; an empty dtype means the value's."""

    dtype: MaybeDType = ""


def _full_relation(types: Sequence[Type], attrs: DynFullAttrs) -> TensorType:
    value, wanted = tensors(types)
    require_rank(value, 0, "the fill value")
    dims = (UNKNOWN,) * length(wanted, "the shape")
    return TensorType(dims, attrs.dtype or value.dtype)


@dynamic("dyn.full", full, _full_relation, DynFullAttrs)
def dyn_full(fill_value: Operand, shape: Expr, dtype: str = "") -> Call:
    """Return a tensor of one value; without a dtype it has the value's."""
    ...


DYNAMIC_FORMS["zeros"] = lambda values: dyn_full(0, *values)
DYNAMIC_FORMS["ones"] = lambda values: dyn_full(1, *values)


def _sparse_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    indices, wanted, values, default = tensors(types)
    require_integer(indices, "the indices")
    require_rank(default, 0, "the default value")
    dims = (UNKNOWN,) * length(wanted, "the output shape")
    return TensorType(dims, values.dtype)


@dynamic("dyn.sparse_to_dense", sparse_to_dense, _sparse_relation)
def dyn_sparse_to_dense(
    sparse_indices: Expr,
    output_shape: Expr,
    sparse_values: Expr,
    default_value: Operand = 0,
) -> Call:
    """Put values where the indices say, a default elsewhere."""
    ...


class DynPadAttrs(Attrs, frozen=True):
    """Attributes of `dyn.nn.pad`."""

    pad_mode: PadMode = "constant"


def _pad_relation(types: Sequence[Type], _attrs: DynPadAttrs) -> TensorType:
    data, widths, value = tensors(types)
    require_rank(widths, 2, "the widths")
    require_rank(value, 0, "the pad value")
    return TensorType((UNKNOWN,) * len(data.shape), data.dtype)


@dynamic("dyn.nn.pad", pad, _pad_relation, DynPadAttrs)
def dyn_pad(
    data: Expr, pad_width: Expr, pad_value: Operand = 0, pad_mode: str = "constant"
) -> Call:
    """Add elements before and after those of each axis; a row of widths for each."""
    ...
