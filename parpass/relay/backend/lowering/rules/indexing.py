"""Operators that pick elements by indices that are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.relay.backend.lowering.places import (
    broadcast_at,
    clipped,
    counted,
    unflat,
    wrapped,
)
from parpass.relay.backend.lowering.template import (
    Indices,
    NoRuleError,
    Result,
    Source,
    register_injective,
)
from parpass.relay.op.declaration.relations import broadcast_shape, normal_axis
from parpass.relay.op.transform.indexing import GatherAttrs, GatherNDAttrs, TakeAttrs
from parpass.relay.op.transform.sequence import OneHotAttrs
from parpass.tir import op
from parpass.tir.expr import Select
from parpass.tir.prim_expr import PrimExpr


@register_injective("take")
def _take(
    attrs: TakeAttrs, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    data, picked = sources
    within = wrapped if attrs.mode == "wrap" else clipped
    if attrs.axis is None:
        count = 1
        for dim in data.shape:
            count *= dim
        place = within(picked.at(indices), count)
        return data.at(unflat(place, data.shape))
    axis = normal_axis(attrs.axis, len(data.shape))
    shared = attrs.batch_dims
    shared += len(picked.shape) if shared < 0 else 0
    many = len(picked.shape) - shared
    which = picked.at([*indices[:shared], *indices[axis : axis + many]])
    place = within(which, data.shape[axis])
    return data.at([*indices[:axis], place, *indices[axis + many :]])


@register_injective("gather")
def _gather(
    attrs: GatherAttrs, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    data, picked = sources
    axis = normal_axis(attrs.axis, len(data.shape))
    found = list(indices)
    found[axis] = counted(picked.at(indices), data.shape[axis])
    return data.at(found)


@register_injective("gather_nd")
def _gather_nd(
    attrs: GatherNDAttrs, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    data, picked = sources
    depth, many = picked.shape[0], len(picked.shape) - 1
    places, rest = indices[:many], indices[many:]
    found = list(indices[: attrs.batch_dims])
    for at in range(depth):
        which = picked.at([op.const(at, "int32"), *places])
        found.append(counted(which, data.shape[attrs.batch_dims + at]))
    return data.at([*found, *rest])


@register_injective("adv_index")
def _adv_index(
    _attrs: Any, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    data, *picked = sources
    many = len(broadcast_shape(*(one.shape for one in picked)))
    places, rest = indices[:many], indices[many:]
    found = [
        counted(broadcast_at(one, places), data.shape[at])
        for at, one in enumerate(picked)
    ]
    return data.at([*found, *rest])


@register_injective("one_hot")
def _one_hot(
    attrs: OneHotAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    picked, on, off = sources
    if picked.dtype == "uint64":
        raise NoRuleError("indices of uint64")
    axis = normal_axis(attrs.axis, len(out.shape))
    which = op.cast_to(picked.at([*indices[:axis], *indices[axis + 1 :]]), "int64")
    is_hot = op.equal(which, op.cast_to(indices[axis], "int64"))
    return op.cast_to(Select(is_hot, on.at(()), off.at(())), out.dtype)


@register_injective("sequence_mask")
def _sequence_mask(
    attrs: Any, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    data, lengths = sources
    value = attrs.mask_value if out.dtype.startswith("float") else int(attrs.mask_value)
    if out.dtype == "bool":
        value = bool(attrs.mask_value)
    axis: int = attrs.axis
    step, length = indices[axis], lengths.at([indices[1 - axis]])
    if length.dtype == "uint64":
        raise NoRuleError("lengths of uint64")
    wide = "float64" if length.dtype.startswith("float") else "int64"
    is_valid = op.cast_to(step, wide) < op.cast_to(length, wide)
    return Select(is_valid, data.at(indices), op.const(value, out.dtype))


@register_injective("reverse_sequence")
def _reverse_sequence(
    attrs: Any, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    data, lengths = sources
    rank = len(out.shape)
    axis = normal_axis(attrs.seq_axis, rank)
    batch = normal_axis(attrs.batch_axis, rank)
    if lengths.dtype == "uint64" or axis == batch:
        raise NoRuleError("lengths of uint64, or one axis for all")
    dim = out.shape[axis]
    length = op.cast_to(lengths.at([indices[batch]]), "int64")
    # As of a slice in Python: a negative length counts from the end.
    length = Select(length < 0, op.maximum(length + dim, 0), op.minimum(length, dim))
    step = op.cast_to(indices[axis], "int64")
    turned = Select(step < length, length - 1 - step, step)
    found = list(indices)
    found[axis] = op.cast_to(turned, "int32")
    return data.at(found)


@register_injective("unravel_index")
def _unravel_index(
    _attrs: Any, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    places, shape = sources
    rest = op.cast_to(places.at(indices[1:]), "int64")
    found: list[PrimExpr] = []
    for axis in reversed(range(shape.shape[0])):
        dim = op.cast_to(shape.at([op.const(axis, "int32")]), "int64")
        some = op.maximum(dim, 1)  # of none there are no indices
        found.insert(0, op.floormod(rest, some))
        rest = op.floordiv(rest, some)
    if not found:
        raise NoRuleError("the coordinates of scalars")
    result = found[0]
    for axis, one in enumerate(found[1:], 1):
        result = Select(op.equal(indices[0], axis), one, result)
    return op.cast_to(result, out.dtype)
