"""Lowering rules of operators that read or write by indices, ranges and grids."""

from __future__ import annotations

from typing import Any

from parpass.relay.backend.lowering.index_maps import (
    broadcast_at,
    clipped,
    counted,
    unflat,
    wrapped,
)
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    Source,
    register_injective,
)
from parpass.relay.op.declaration.type_relations import broadcast_shape, normal_axis
from parpass.relay.op.transform.grid import ArangeAttrs, MeshgridAttrs
from parpass.relay.op.transform.indexing import (
    GatherAttrs,
    GatherNDAttrs,
    OneHotAttrs,
    TakeAttrs,
)
from parpass.relay.op.transform.select import (
    RepeatAttrs,
    ReverseAttrs,
    StridedSliceAttrs,
    slices_of,
)
from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.expr import PrimExpr, Select


@register_injective("take")
def _take(call: OpCall[TakeAttrs], indices: Indices) -> PrimExpr:
    attrs = call.attrs
    data, picked = call.sources
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
def _gather(call: OpCall[GatherAttrs], indices: Indices) -> PrimExpr:
    data, picked = call.sources
    axis = normal_axis(call.attrs.axis, len(data.shape))
    found = list(indices)
    found[axis] = counted(picked.at(indices), data.shape[axis])
    return data.at(found)


@register_injective("gather_nd")
def _gather_nd(call: OpCall[GatherNDAttrs], indices: Indices) -> PrimExpr:
    data, picked = call.sources
    depth, many = picked.shape[0], len(picked.shape) - 1
    places, rest = indices[:many], indices[many:]
    found = list(indices[: call.attrs.batch_dims])
    for at in range(depth):
        which = picked.at([op.const(at, "int32"), *places])
        found.append(counted(which, data.shape[call.attrs.batch_dims + at]))
    return data.at([*found, *rest])


@register_injective("adv_index")
def _adv_index(call: OpCall[Any], indices: Indices) -> PrimExpr:
    data, *picked = call.sources
    many = len(broadcast_shape(*(one.shape for one in picked)))
    places, rest = indices[:many], indices[many:]
    found = [
        counted(broadcast_at(one, places), data.shape[at])
        for at, one in enumerate(picked)
    ]
    return data.at([*found, *rest])


@register_injective("one_hot")
def _one_hot(call: OpCall[OneHotAttrs], indices: Indices) -> PrimExpr:
    picked, on, off = call.sources
    if picked.dtype == "uint64":
        raise NoRuleError("indices of uint64")
    axis = normal_axis(call.attrs.axis, len(call.out.shape))
    which = op.cast_to(picked.at([*indices[:axis], *indices[axis + 1 :]]), "int64")
    is_hot = op.equal(which, op.cast_to(indices[axis], "int64"))
    return op.cast_to(Select(is_hot, on.at(()), off.at(())), call.out.dtype)


@register_injective("sequence_mask")
def _sequence_mask(call: OpCall[Any], indices: Indices) -> PrimExpr:
    attrs, dtype = call.attrs, call.out.dtype
    data, lengths = call.sources
    value = attrs.mask_value if dtype.startswith("float") else int(attrs.mask_value)
    if dtype == "bool":
        value = bool(attrs.mask_value)
    axis: int = attrs.axis
    step, length = indices[axis], lengths.at([indices[1 - axis]])
    if length.dtype == "uint64":
        raise NoRuleError("lengths of uint64")
    wide = "float64" if length.dtype.startswith("float") else "int64"
    is_valid = op.cast_to(step, wide) < op.cast_to(length, wide)
    return Select(is_valid, data.at(indices), op.const(value, dtype))


@register_injective("reverse_sequence")
def _reverse_sequence(call: OpCall[Any], indices: Indices) -> PrimExpr:
    data, lengths = call.sources
    rank = len(call.out.shape)
    axis = normal_axis(call.attrs.seq_axis, rank)
    batch = normal_axis(call.attrs.batch_axis, rank)
    if lengths.dtype == "uint64":
        raise NoRuleError("lengths of uint64")
    dim = call.out.shape[axis]
    length = op.cast_to(lengths.at([indices[batch]]), "int64")
    # As of a slice in Python: a negative length counts from the end.
    length = Select(length < 0, op.maximum(length + dim, 0), op.minimum(length, dim))
    step = op.cast_to(indices[axis], "int64")
    turned = Select(step < length, length - 1 - step, step)
    found = list(indices)
    found[axis] = op.cast_to(turned, "int32")
    return data.at(found)


@register_injective("unravel_index")
def _unravel_index(call: OpCall[Any], indices: Indices) -> PrimExpr:
    places, shape = call.sources
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
    return op.cast_to(result, call.out.dtype)


@register_injective("strided_slice")
def _strided_slice(call: OpCall[StridedSliceAttrs], indices: Indices) -> PrimExpr:
    shape = call.sources[0].shape
    found: list[PrimExpr] = []
    slices = slices_of(call.attrs, shape)
    for index, part, dim in zip(indices, slices, shape, strict=True):
        first, _, step = part.indices(dim)
        found.append(op.add(op.multiply(index, step), first))
    return call.sources[0].at(found)


@register_injective("slice_like")
def _slice_like(call: OpCall[Any], indices: Indices) -> PrimExpr:
    return call.sources[0].at(indices)


@register_injective("reverse")
def _reverse(call: OpCall[ReverseAttrs], indices: Indices) -> PrimExpr:
    found = list(indices)
    axis = normal_axis(call.attrs.axis, len(found))
    found[axis] = op.subtract(call.out.shape[axis] - 1, found[axis])
    return call.sources[0].at(found)


@register_injective("repeat")
def _repeat(call: OpCall[RepeatAttrs], indices: Indices) -> PrimExpr:
    attrs = call.attrs
    if attrs.axis is None:
        place = op.floordiv(indices[0], attrs.repeats)
        return call.sources[0].at(unflat(place, call.sources[0].shape))
    found = list(indices)
    axis = normal_axis(attrs.axis, len(found))
    found[axis] = op.floordiv(found[axis], attrs.repeats)
    return call.sources[0].at(found)


@register_injective("tile")
def _tile(call: OpCall[Any], indices: Indices) -> PrimExpr:
    shape, new = call.sources[0].shape, call.out.shape
    behind = len(new) - len(shape)
    at = zip(indices[behind:], shape, new[behind:], strict=True)
    # Of no elements there are none to look at.
    places = [one if dim == n else op.floormod(one, max(dim, 1)) for one, dim, n in at]
    return call.sources[0].at(places)


@register_injective("trilu")
def _trilu(call: OpCall[Any], indices: Indices) -> PrimExpr:
    data, k = call.sources
    rows, columns = data.shape[-2:]
    row, column = (op.cast_to(one, "int64") for one in indices[-2:])
    above = k.at(())
    if k.dtype == "uint64":  # the only one whose values int64 may not hold
        above = op.minimum(above, op.const(columns, k.dtype))
    above = op.minimum(op.cast_to(above, "int64"), op.const(columns, "int64"))
    diagonal = op.add(row, op.maximum(above, op.const(-rows, "int64")))
    is_kept = column >= diagonal if call.attrs.upper else column <= diagonal
    return Select(is_kept, data.at(indices), op.const(0, call.out.dtype))


@register_injective("strided_set")
def _strided_set(call: OpCall[Any], indices: Indices) -> PrimExpr:
    data, value, begin, end, strides = call.sources
    if 0 in (*data.shape, *value.shape):
        raise NoRuleError("a range of no elements")
    if begin.shape != end.shape:
        raise NoRuleError("fewer bounds of one kind than of another")
    whole = zip(
        reversed(data.shape[begin.shape[0] :]), reversed(value.shape), strict=False
    )
    if len(value.shape) > len(data.shape) or any(b not in (1, a) for a, b in whole):
        raise NoRuleError("a value that does not fit")
    at = [op.cast_to(index, "int64") for index in indices]
    inside: list[PrimExpr] = []
    for axis in range(begin.shape[0]):
        first, last = (_bound(one, axis) for one in (begin, end))
        step: PrimExpr = op.const(1, "int64")
        if axis < strides.shape[0]:
            step = _bound(strides, axis)
        place, conditions = _in_slice(at[axis], first, last, step, data.shape[axis])
        at[axis] = place
        inside += conditions
    behind = at[len(at) - len(value.shape) :]
    # Where it is not inside the place is none of the value's, and is not looked at.
    places = [
        op.cast_to(op.maximum(op.minimum(one, dim - 1), 0), "int32")
        for one, dim in zip(behind, value.shape, strict=True)
    ]
    if not inside:
        return value.at(places)
    return op.if_then_else(op.all(*inside), value.at(places), data.at(indices))


def _bound(of: Source, axis: int) -> PrimExpr:
    return op.cast_to(of.at([op.const(axis, "int32")]), "int64")


def _in_slice(
    at: PrimExpr, begin: PrimExpr, end: PrimExpr, step: PrimExpr, dim: int
) -> tuple[PrimExpr, list[PrimExpr]]:
    """Return which element of a slice of Python's a place is, and what makes it one."""
    zero = op.const(0, "int64")
    forward = step > zero
    lowest = Select(forward, zero, op.const(-1, "int64"))
    highest = Select(forward, op.const(dim, "int64"), op.const(dim - 1, "int64"))
    first, last = (
        op.maximum(op.minimum(Select(one < zero, one + dim, one), highest), lowest)
        for one in (begin, end)
    )
    steps = Select(op.equal(step, zero), op.const(1, "int64"), step)
    off = op.subtract(at, first)
    within = Select(
        forward,
        op.logical_and(at >= first, at < last),
        op.logical_and(at <= first, at > last),
    )
    return op.floordiv(off, steps), [within, op.equal(op.floormod(off, steps), zero)]


@register_injective("arange")
def _arange(call: OpCall[ArangeAttrs], indices: Indices) -> PrimExpr:
    start, _, step = (one.at(()) for one in call.sources)
    kinds = [data_type(one.dtype) for one in (start, step)]
    if any(kind == data_type("uint64") for kind in kinds):
        raise NoRuleError("a range of uint64")
    is_real = any(kind.is_floating for kind in kinds)
    wide = "float64" if is_real else "int64"  # as of numpy's arrays
    count = op.cast_to(op.cast_to(indices[0], "int64"), wide)
    more = op.multiply(count, op.cast_to(step, wide))
    return op.cast_to(op.add(op.cast_to(start, wide), more), call.out.dtype)


@register_injective("meshgrid")
def _meshgrid(call: OpCall[MeshgridAttrs], indices: Indices) -> PrimExpr:
    axis, source = call.out.field, call.sources[call.out.field]
    if call.attrs.indexing == "xy" and len(call.sources) > 1 and axis < 2:
        axis = 1 - axis
    return source.at([indices[axis]] if source.shape else [])
