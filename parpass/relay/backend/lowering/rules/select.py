"""Operators that pick elements of a tensor, or repeat them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.relay.backend.lowering.places import unflat
from parpass.relay.backend.lowering.template import (
    Indices,
    Result,
    Source,
    register_injective,
)
from parpass.relay.op.declaration.relations import normal_axis
from parpass.relay.op.transform.select import (
    RepeatAttrs,
    ReverseAttrs,
    StridedSliceAttrs,
    slices_of,
)
from parpass.tir import op
from parpass.tir.prim_expr import PrimExpr


@register_injective("strided_slice")
def _strided_slice(
    attrs: StridedSliceAttrs, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    shape = sources[0].shape
    found: list[PrimExpr] = []
    for index, part, dim in zip(indices, slices_of(attrs, shape), shape, strict=True):
        first, _, step = part.indices(dim)
        found.append(op.add(op.multiply(index, step), first))
    return sources[0].at(found)


@register_injective("slice_like")
def _slice_like(
    _attrs: Any, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    return sources[0].at(indices)


@register_injective("reverse")
def _reverse(
    attrs: ReverseAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    found = list(indices)
    axis = normal_axis(attrs.axis, len(found))
    found[axis] = op.subtract(out.shape[axis] - 1, found[axis])
    return sources[0].at(found)


@register_injective("repeat")
def _repeat(
    attrs: RepeatAttrs, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    if attrs.axis is None:
        place = op.floordiv(indices[0], attrs.repeats)
        return sources[0].at(unflat(place, sources[0].shape))
    found = list(indices)
    axis = normal_axis(attrs.axis, len(found))
    found[axis] = op.floordiv(found[axis], attrs.repeats)
    return sources[0].at(found)


@register_injective("tile")
def _tile(
    _attrs: Any, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    shape = sources[0].shape
    last = indices[len(indices) - len(shape) :]
    pairs = zip(last, shape, strict=True)
    # Of no elements there are none to look at.
    return sources[0].at([op.floormod(one, max(dim, 1)) for one, dim in pairs])


@register_injective("trilu")
def _trilu(
    attrs: Any, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    data, k = sources
    rows, columns = data.shape[-2:]
    row, column = (op.cast_to(one, "int64") for one in indices[-2:])
    above = k.at(())
    if k.dtype == "uint64":  # the only one whose values int64 may not hold
        above = op.minimum(above, op.const(columns, k.dtype))
    above = op.minimum(op.cast_to(above, "int64"), op.const(columns, "int64"))
    diagonal = op.add(row, op.maximum(above, op.const(-rows, "int64")))
    is_kept = column >= diagonal if attrs.upper else column <= diagonal
    return op.if_then_else(is_kept, data.at(indices), op.const(0, out.dtype))
