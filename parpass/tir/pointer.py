"""Addresses of the elements of a buffer: offsets, loads, stores and pointers."""

from __future__ import annotations

from typing import Any

from parpass.errors import IRTypeError
from parpass.ir.op.op_table import Op
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    Buffer,
    Call,
    IntImm,
    Load,
    PrimExpr,
    Ramp,
    as_prim_expr,
    as_prim_exprs,
)
from parpass.tir.op import add, const, indexdiv, multiply
from parpass.tir.stmt import Store


def elem_offset(buffer: Buffer, indices: Any) -> PrimExpr:
    """Return how many elements behind the memory's first one an element is.

    Raises:
        IRTypeError: There are more or fewer indices than dimensions.
    """
    found = as_prim_exprs(indices)
    if len(found) != len(buffer.shape):
        raise IRTypeError(
            f"expected {len(buffer.shape)} indices for buffer '{buffer.name}', got "
            f"{len(found)}"
        )
    base = buffer.elem_offset
    if not found:
        return base
    if buffer.strides:
        for index, stride in zip(found, buffer.strides, strict=True):
            base = add(base, multiply(index, stride))
        return base
    offset = found[0]
    for index, dim in zip(found[1:], buffer.shape[1:], strict=True):
        offset = add(multiply(offset, dim), index)
    return add(base, offset)


def _index(buffer: Buffer, begin: Any, dtype: str) -> PrimExpr:
    wanted, own = data_type(dtype), data_type(buffer.dtype)
    if wanted.element != own.element or wanted.lanes % own.lanes:
        raise IRTypeError(
            f"expected {buffer.dtype}, or a vector of it, for buffer '{buffer.name}', "
            f"got {dtype}"
        )
    offset = elem_offset(buffer, begin)
    if own.lanes > 1:
        offset = multiply(offset, const(own.lanes, offset.dtype))
    if wanted.lanes == 1:
        return offset
    return Ramp(offset, const(1, offset.dtype), wanted.lanes)


def vload(buffer: Buffer, begin: Any, dtype: str) -> PrimExpr:
    """Return a load of one element, or of a vector; see `Buffer.vload`."""
    return Load(dtype, buffer.data, _index(buffer, begin, dtype))


def vstore(buffer: Buffer, begin: Any, value: Any) -> Store:
    """Return a store of one element, or of a vector; see `Buffer.vstore`."""
    expr = as_prim_expr(value)
    return Store(buffer.data, expr, _index(buffer, begin, expr.dtype))


def access_ptr(
    buffer: Buffer,
    access_mask: int | str,
    ptr_type: str,
    content_lanes: int,
    offset: Any,
) -> PrimExpr:
    """Return a pointer to a buffer; see `Buffer.access_ptr`."""
    if isinstance(access_mask, str):
        bits = {"r": Buffer.READ, "w": Buffer.WRITE}
        if not {*access_mask} <= bits.keys():
            raise IRTypeError(
                f"Unknown access_mask '{access_mask}': expected r, w or rw"
            )
        access_mask = sum(bits[one] for one in {*access_mask})
    extent: PrimExpr = IntImm("int32", 1)
    for dim in buffer.shape:
        extent = multiply(extent, dim)
    if buffer.strides:
        extent = multiply(buffer.strides[0], buffer.shape[0])
    if buffer.shape:
        extent = extent - offset
    start, dtype = add(buffer.elem_offset, offset), buffer.dtype
    if content_lanes > 1:
        dtype = data_type(dtype).with_lanes(content_lanes)
        extent = indexdiv(extent, content_lanes)
        start = indexdiv(buffer.elem_offset, content_lanes)
    kind = Call(dtype, Op.get("tir.type_annotation"), ())
    args = (kind, buffer.data, start, extent, access_mask)
    return Call(ptr_type, Op.get("tir.tvm_access_ptr"), args)
