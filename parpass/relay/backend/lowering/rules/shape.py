"""Lowering rules of operators on shapes: rearranged dimensions, joins, splits, blocks.

The sums that undo a broadcast (`collapse_sum_to`) are also here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from parpass.relay.backend.lowering.elementwise_loops import elementwise_nest
from parpass.relay.backend.lowering.index_maps import (
    axis_lengths,
    axis_values,
    broadcast_at,
    layout_indices,
    reshaped,
    transformed_indices,
    zero_like,
)
from parpass.relay.backend.lowering.reduction_loops import reductions
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    OpCall,
    Source,
    Store,
    register_injective,
    register_template,
)
from parpass.relay.op.declaration.type_relations import normal_axes, normal_axis
from parpass.relay.op.nn.blocks import (
    BatchToSpaceNDAttrs,
    SpaceToBatchNDAttrs,
    SubPixelAttrs,
)
from parpass.relay.op.transform.join import ConcatenateAttrs, SplitAttrs, StackAttrs
from parpass.relay.op.transform.shape import (
    ExpandDimsAttrs,
    LayoutTransformAttrs,
    SqueezeAttrs,
    TransposeAttrs,
)
from parpass.tir import op
from parpass.tir.expr import BufferLoad, PrimExpr, Select, decl_buffer
from parpass.tir.stmt import Evaluate, Stmt, stmt_seq


@register_injective("transpose")
def _transpose(call: OpCall[TransposeAttrs], indices: Indices) -> PrimExpr:
    rank, axes = len(call.out.shape), call.attrs.axes
    axes = range(rank)[::-1] if axes is None else normal_axes(axes, rank)
    found = dict(zip(axes, indices, strict=True))
    return call.sources[0].at([found[axis] for axis in range(rank)])


@register_injective("expand_dims")
def _expand_dims(call: OpCall[ExpandDimsAttrs], indices: Indices) -> PrimExpr:
    at = normal_axis(call.attrs.axis, len(call.sources[0].shape) + 1)
    return call.sources[0].at([*indices[:at], *indices[at + call.attrs.num_newaxis :]])


@register_injective("squeeze")
def _squeeze(call: OpCall[SqueezeAttrs], indices: Indices) -> PrimExpr:
    shape = call.sources[0].shape
    if call.attrs.axis is None:
        gone = [axis for axis, dim in enumerate(shape) if dim == 1]
    else:
        gone = [*normal_axes(call.attrs.axis, len(shape))]
    left = iter(indices)
    zero = zero_like(indices[0]) if indices else op.const(0, "int32")
    return call.sources[0].at(
        [zero if axis in gone else next(left) for axis in range(len(shape))]
    )


@register_injective("broadcast_to", "broadcast_to_like")
def _broadcast_to(call: OpCall[Any], indices: Indices) -> PrimExpr:
    return broadcast_at(call.sources[0], indices)


@register_injective(
    "reshape", "reshape_like", "contrib_reverse_reshape", "nn.batch_flatten"
)
def _reshape(call: OpCall[Any], indices: Indices) -> PrimExpr:
    (source, *_) = call.sources
    if source.buffer is not None and source.dtype == source.buffer.dtype:
        # The same memory in another shape: no place is to be worked out.
        old = source.buffer
        view = decl_buffer(call.out.shape, old.dtype, old.name, old.data)
        return BufferLoad(view, indices)
    return source.at(reshaped(indices, call.out.shape, source.shape))


@register_injective("layout_transform")
def _layout_transform(call: OpCall[LayoutTransformAttrs], indices: Indices) -> PrimExpr:
    return call.sources[0].at(
        transformed_indices(indices, call.attrs.dst_layout, call.attrs.src_layout)
    )


@register_injective("shape_of", "vm.shape_of")
def _shape_of(call: OpCall[Any], indices: Indices) -> PrimExpr:
    dims = [op.const(dim, call.out.dtype) for dim in call.sources[0].shape]
    found = dims[0] if dims else op.const(0, call.out.dtype)
    for at, dim in enumerate(dims[1:], 1):
        found = Select(op.equal(indices[0], at), dim, found)
    return found


@register_injective("ndarray_size")
def _ndarray_size(call: OpCall[Any], _indices: Indices) -> PrimExpr:
    return op.const(math.prod(call.sources[0].shape), call.out.dtype)


@register_template("collapse_sum_like", "collapse_sum_to")
def _collapsed(call: OpCall[Any], store: Store) -> Stmt:
    out = call.out
    data, more = call.sources[0], len(call.sources[0].shape) - len(out.shape)
    shape = (*[1] * more, *out.shape)
    summed = [at for at, dim in enumerate(shape) if dim == 1 != data.shape[at]]

    def added(indices: Indices, k: Indices) -> PrimExpr:
        inner = dict(zip(summed, k, strict=True))
        places = [
            inner[at] if at in inner else _kept(indices, at - more)
            for at in range(len(shape))
        ]
        return data.at(places)

    over = [data.shape[at] for at in summed]
    return reductions(out, over, added, store, call.target)


def _kept(indices: Indices, at: int) -> PrimExpr:
    return indices[at] if at >= 0 else op.const(0, "int32")


def _shifted(indices: Indices, axis: int, by: int) -> list[PrimExpr]:
    found = list(indices)
    found[axis] = op.add(found[axis], by)
    return found


def _starts(sources: Sequence[Source], axis: int) -> list[int]:
    return [0, *accumulate(one.shape[axis] for one in sources)]


def _parts(call: OpCall[Any]) -> Sequence[Source]:
    """Return what is joined along an axis; what is stacked is of length 1 there."""
    if not isinstance(call.attrs, StackAttrs):
        return call.sources
    axis = normal_axis(call.attrs.axis, len(call.out.shape))
    return [_with_axis(one, axis) for one in call.sources]


def _with_axis(source: Source, axis: int) -> Source:
    def at(indices: Indices) -> PrimExpr:
        return source.at([*indices[:axis], *indices[axis + 1 :]])

    shape = (*source.shape[:axis], 1, *source.shape[axis:])
    return Source(shape, source.dtype, at)


@register_injective("concatenate", "stack")
def _element_of_a_part(
    call: OpCall[ConcatenateAttrs | StackAttrs], indices: Indices
) -> PrimExpr:
    axis, parts = normal_axis(call.attrs.axis, len(call.out.shape)), _parts(call)
    places = [
        (start, one)
        for start, one in zip(_starts(parts, axis), parts, strict=False)
        if one.shape[axis]
    ]
    if not places:
        return op.const(0, call.out.dtype)
    start, last = places[-1]
    found = last.at(_shifted(indices, axis, -start))
    for (start, one), (end, _) in zip(places[-2::-1], places[:0:-1], strict=True):
        element = one.at(_shifted(indices, axis, -start))
        found = op.if_then_else(indices[axis] < end, element, found)
    return found


@register_template("concatenate", "stack")
def _joined(call: OpCall[ConcatenateAttrs | StackAttrs], store: Store) -> Stmt:
    """Return loops for each tensor, where no element needs to know which it is of."""
    axis, parts = normal_axis(call.attrs.axis, len(call.out.shape)), _parts(call)

    def copied(start: int, one: Source) -> Stmt:
        return elementwise_nest(
            one.shape,
            lambda at: store(_shifted(at, axis, start), one.at(at)),
            call.target,
        )

    starts = _starts(parts, axis)
    copies = [copied(*each) for each in zip(starts, parts, strict=False)]
    return stmt_seq(*copies) if copies else Evaluate(0)


@register_injective("split")
def _split(call: OpCall[SplitAttrs], indices: Indices) -> PrimExpr:
    (data,) = call.sources
    axis = normal_axis(call.attrs.axis, len(data.shape))
    where = call.attrs.indices_or_sections
    if isinstance(where, int):
        start = data.shape[axis] // where * call.out.field
    else:
        start = (0, *where)[call.out.field]
    return data.at(_shifted(indices, axis, start))


def _divided(value: PrimExpr, by: int) -> tuple[PrimExpr, PrimExpr]:
    return op.floordiv(value, by), op.floormod(value, by)


@register_injective("nn.depth_to_space")
def _depth_to_space(call: OpCall[SubPixelAttrs], indices: Indices) -> PrimExpr:
    attrs = call.attrs
    (data,), block = call.sources, attrs.block_size
    at = axis_values(indices, attrs.layout)
    channels = axis_lengths(call.out.shape, attrs.layout, "NCHW")[1]
    at["H"], below = _divided(at["H"], block)
    at["W"], beside = _divided(at["W"], block)
    within = below * block + beside
    if attrs.mode == "DCR":
        at["C"] = within * channels + at["C"]
    else:
        at["C"] = at["C"] * (block * block) + within
    return data.at(layout_indices(at, attrs.layout))


@register_injective("nn.space_to_depth")
def _space_to_depth(call: OpCall[SubPixelAttrs], indices: Indices) -> PrimExpr:
    attrs = call.attrs
    (data,), block = call.sources, attrs.block_size
    at = axis_values(indices, attrs.layout)
    channels = axis_lengths(data.shape, attrs.layout, "NCHW")[1]
    within, at["C"] = _divided(at["C"], max(channels, 1))
    below, beside = _divided(within, block)
    at["H"] = at["H"] * block + below
    at["W"] = at["W"] * block + beside
    return data.at(layout_indices(at, attrs.layout))


@register_injective("nn.space_to_batch_nd")
def _space_to_batch(call: OpCall[SpaceToBatchNDAttrs], indices: Indices) -> PrimExpr:
    attrs = call.attrs
    (data,) = call.sources
    count = len(attrs.block_shape)
    blocks, batch = _divided(indices[0], max(data.shape[0], 1))
    within: list[PrimExpr] = []
    for block in reversed(attrs.block_shape):
        blocks, rest = _divided(blocks, block)
        within.insert(0, rest)
    found, inside = [batch], list[PrimExpr]()
    for at, block in enumerate(attrs.block_shape):
        before, after = attrs.paddings[at]
        place = op.subtract(indices[at + 1] * block + within[at], before)
        found.append(place)
        inside += [place >= 0] if before else []
        inside += [place < data.shape[at + 1]] if after else []
    found += indices[count + 1 :]
    if not inside:
        return data.at(found)
    filler = op.const(attrs.pad_value, call.out.dtype)
    return op.if_then_else(op.all(*inside), data.at(found), filler)


@register_injective("nn.batch_to_space_nd")
def _batch_to_space(call: OpCall[BatchToSpaceNDAttrs], indices: Indices) -> PrimExpr:
    (data,) = call.sources
    count = len(call.attrs.block_shape)
    which: PrimExpr = op.const(0, indices[0].dtype)
    places: list[PrimExpr] = []
    for at, block in enumerate(call.attrs.block_shape):
        place, rest = _divided(indices[at + 1] + call.attrs.crops[at][0], block)
        which = which * block + rest
        places.append(place)
    batch = which * call.out.shape[0] + indices[0]
    return data.at([batch, *places, *indices[count + 1 :]])
