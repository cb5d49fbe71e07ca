"""Operators to which the program says how much they pick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from parpass.ir.attrs import Attrs
from parpass.ir.op_table import OpPattern, TypeRelationError
from parpass.ir.ty import TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, Operand, TupleWrapper
from parpass.relay.op.attributes import dtype_name, require_choice
from parpass.relay.op.build import call_op
from parpass.relay.op.dyn.counterpart import (
    UNKNOWN,
    ints_of,
    length,
    register_dynamic,
)
from parpass.relay.op.relations import (
    normal_axis,
    require_integer,
    require_number,
    require_rank,
    require_same_dtype,
    tensors,
)
from parpass.relay.op.select import strided_slice
from parpass.relay.op.sequence import one_hot
from parpass.relay.op.sort import topk

Array = npt.NDArray[Any]


class DynStridedSliceAttrs(Attrs, frozen=True):
    """Attributes of `dyn.strided_slice`."""

    slice_mode: str = "end"


def _slice_relation(types: Sequence[Type], _attrs: DynStridedSliceAttrs) -> TensorType:
    data, *bounds = tensors(types)
    counts = {length(one, "a bound") for one in bounds}
    if len(counts) > 1 or min(counts) > len(data.shape):
        raise TypeRelationError(
            f"expected as many bounds and strides, up to {len(data.shape)}, got "
            f"{', '.join(map(str, bounds))}"
        )
    count = counts.pop()
    return TensorType((*(UNKNOWN,) * count, *data.shape[count:]), data.dtype)


def _static_slice(
    attrs: DynStridedSliceAttrs, data: Expr, begin: Array, end: Array, strides: Array
) -> Call:
    bounds = (ints_of(begin), ints_of(end), ints_of(strides))
    return strided_slice(data, *bounds, slice_mode=attrs.slice_mode)


_SLICE = register_dynamic(
    "dyn.strided_slice",
    4,
    _slice_relation,
    _static_slice,
    DynStridedSliceAttrs,
    values=(1, 2, 3),
    pattern=OpPattern.INJECTIVE,
    moves=True,
)


def dyn_strided_slice(
    data: Expr, begin: Expr, end: Expr, strides: Expr, slice_mode: str = "end"
) -> Call:
    """Pick a range with a stride along each of the first axes."""
    mode = require_choice(slice_mode, ("end", "size"), "slice_mode")
    attrs = DynStridedSliceAttrs(slice_mode=mode)
    return call_op(_SLICE, (data, begin, end, strides), attrs)


class DynTopKAttrs(Attrs, frozen=True):
    """Attributes of `dyn.topk`."""

    axis: int = -1
    ret_type: str = "both"
    is_ascend: bool = False
    dtype: str = "int32"


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


def _static_topk(attrs: DynTopKAttrs, data: Expr, k: Array) -> Call | TupleWrapper:
    how = (attrs.axis, attrs.ret_type, attrs.is_ascend, attrs.dtype)
    return topk(data, int(k.reshape(())), *how)


_TOPK = register_dynamic("dyn.topk", 2, _topk_relation, _static_topk, DynTopKAttrs)


def dyn_topk(
    data: Expr,
    k: Expr,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int32",
) -> Call | TupleWrapper:
    """Return the largest or smallest elements along an axis, and where they are."""
    attrs = DynTopKAttrs(
        axis=axis,
        ret_type=require_choice(ret_type, ("both", "values", "indices"), "ret_type"),
        is_ascend=is_ascend,
        dtype=dtype_name(dtype),
    )
    call = call_op(_TOPK, (data, k), attrs)
    return TupleWrapper(call, 2) if ret_type == "both" else call


class DynOneHotAttrs(Attrs, frozen=True):
    """Attributes of `dyn.one_hot`; the axis -1 is a new last one."""

    axis: int = -1
    dtype: str = "float32"


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


def _static_one_hot(
    attrs: DynOneHotAttrs, indices: Expr, on: Expr, off: Expr, depth: Array
) -> Call:
    count = int(depth.reshape(()))
    return one_hot(indices, on, off, count, attrs.axis, attrs.dtype)


_ONE_HOT = register_dynamic(
    "dyn.one_hot",
    4,
    _one_hot_relation,
    _static_one_hot,
    DynOneHotAttrs,
    values=(3,),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
)


def dyn_one_hot(
    indices: Expr,
    on_value: Operand,
    off_value: Operand,
    depth: Expr,
    axis: int = -1,
    dtype: str = "float32",
) -> Call:
    """Return `on_value` where the place along a new axis is the index."""
    attrs = DynOneHotAttrs(axis=axis, dtype=dtype_name(dtype))
    return call_op(_ONE_HOT, (indices, on_value, off_value, depth), attrs)
