"""Operators that move blocks of places into channels or the batch, and back."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.relay.backend.lowering.places import (
    axis_lengths,
    axis_places,
    axis_values,
)
from parpass.relay.backend.lowering.template import (
    Indices,
    Result,
    Source,
    register_injective,
)
from parpass.relay.op.nn.blocks import (
    BatchToSpaceNDAttrs,
    SpaceToBatchNDAttrs,
    SubPixelAttrs,
)
from parpass.tir import op
from parpass.tir.prim_expr import PrimExpr


def _divided(value: PrimExpr, by: int) -> tuple[PrimExpr, PrimExpr]:
    return op.floordiv(value, by), op.floormod(value, by)


@register_injective("nn.depth_to_space")
def _depth_to_space(
    attrs: SubPixelAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    (data,), block = sources, attrs.block_size
    at = axis_values(indices, attrs.layout)
    channels = axis_lengths(out.shape, attrs.layout, "NCHW")[1]
    at["H"], below = _divided(at["H"], block)
    at["W"], beside = _divided(at["W"], block)
    within = below * block + beside
    if attrs.mode == "DCR":
        at["C"] = within * channels + at["C"]
    else:
        at["C"] = at["C"] * (block * block) + within
    return data.at(axis_places(at, attrs.layout))


@register_injective("nn.space_to_depth")
def _space_to_depth(
    attrs: SubPixelAttrs, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    (data,), block = sources, attrs.block_size
    at = axis_values(indices, attrs.layout)
    channels = axis_lengths(data.shape, attrs.layout, "NCHW")[1]
    within, at["C"] = _divided(at["C"], max(channels, 1))
    below, beside = _divided(within, block)
    at["H"] = at["H"] * block + below
    at["W"] = at["W"] * block + beside
    return data.at(axis_places(at, attrs.layout))


@register_injective("nn.space_to_batch_nd")
def _space_to_batch(
    attrs: SpaceToBatchNDAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    (data,) = sources
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
    filler = op.const(attrs.pad_value, out.dtype)
    return op.if_then_else(op.all(*inside), data.at(found), filler)


@register_injective("nn.batch_to_space_nd")
def _batch_to_space(
    attrs: BatchToSpaceNDAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    (data,) = sources
    count = len(attrs.block_shape)
    which: PrimExpr = op.const(0, indices[0].dtype)
    places: list[PrimExpr] = []
    for at, block in enumerate(attrs.block_shape):
        place, rest = _divided(indices[at + 1] + attrs.crops[at][0], block)
        which = which * block + rest
        places.append(place)
    batch = which * out.shape[0] + indices[0]
    return data.at([batch, *places, *indices[count + 1 :]])
