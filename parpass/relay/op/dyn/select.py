"""Operators to which the program says how much they pick."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import TypeRelationError
from parpass.ir.types.ty import TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, Operand, TupleWrapper
from parpass.relay.op.algorithm import RetType, results_of_topk, topk
from parpass.relay.op.declaration.attributes import DType
from parpass.relay.op.declaration.relations import (
    normal_axis,
    require_integer,
    require_number,
    require_rank,
    require_same_dtype,
    tensors,
)
from parpass.relay.op.dyn.counterpart import UNKNOWN, dynamic, length
from parpass.relay.op.transform.select import SliceMode, strided_slice
from parpass.relay.op.transform.sequence import one_hot


class DynStridedSliceAttrs(Attrs, frozen=True):
    """Attributes of `dyn.strided_slice`."""

    slice_mode: SliceMode = "end"


def _slice_relation(types: Sequence[Type], _attrs: DynStridedSliceAttrs) -> TensorType:
    data, *bounds = tensors(types)
    counts = [length(one, "a bound") for one in bounds]
    count = max(counts)
    if count > len(data.shape):
        raise TypeRelationError(
            f"expected bounds and strides of up to {len(data.shape)} axes, got "
            f"{', '.join(map(str, bounds))}"
        )
    return TensorType((*(UNKNOWN,) * count, *data.shape[count:]), data.dtype)


@dynamic("dyn.strided_slice", strided_slice, _slice_relation, DynStridedSliceAttrs)
def dyn_strided_slice(
    data: Expr, begin: Expr, end: Expr, strides: Expr, slice_mode: str = "end"
) -> Call:
    """Pick a range with a stride along each of the first axes.

    Where there are fewer of a kind, it begins at the front, ends at the back, or has
    the stride 1.
    """
    ...


class DynTopKAttrs(Attrs, frozen=True):
    """Attributes of `dyn.topk`."""

    axis: int = -1
    ret_type: RetType = "both"
    is_ascend: bool = False
    dtype: DType = "int32"


def _topk_relation(types: Sequence[Type], attrs: DynTopKAttrs) -> Type:
    data, k = tensors(types)
    require_number(data)
    require_integer(k, "k")
    axis = normal_axis(attrs.axis, len(data.shape))
    shape = (*data.shape[:axis], UNKNOWN, *data.shape[axis + 1 :])
    values, indices = TensorType(shape, data.dtype), TensorType(shape, attrs.dtype)
    if attrs.ret_type == "both":
        return TupleType((values, indices))
    return values if attrs.ret_type == "values" else indices


@dynamic("dyn.topk", topk, _topk_relation, DynTopKAttrs, results=results_of_topk)
def dyn_topk(
    data: Expr,
    k: Expr,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int32",
) -> Call | TupleWrapper:
    """Return the largest or smallest elements along an axis, and where they are."""
    ...


class DynOneHotAttrs(Attrs, frozen=True):
    """Attributes of `dyn.one_hot`; the axis -1 is a new last one."""

    axis: int = -1
    dtype: DType = "float32"


def _one_hot_relation(types: Sequence[Type], attrs: DynOneHotAttrs) -> TensorType:
    indices, on, off, depth = tensors(types)
    require_integer(indices, "the indices")
    require_integer(depth, "the depth")
    require_same_dtype((on, off))
    for value in (on, off):
        require_rank(value, 0, "a value")
    axis = normal_axis(attrs.axis, len(indices.shape) + 1)
    dims = (*indices.shape[:axis], UNKNOWN, *indices.shape[axis:])
    return TensorType(dims, attrs.dtype)


@dynamic("dyn.one_hot", one_hot, _one_hot_relation, DynOneHotAttrs)
def dyn_one_hot(
    indices: Expr,
    on_value: Operand,
    off_value: Operand,
    depth: Expr,
    axis: int = -1,
    dtype: str = "float32",
) -> Call:
    """Return `on_value` where the place along a new axis is the index."""
    ...
