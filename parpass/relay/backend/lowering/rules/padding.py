"""Padding of any axes."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    register_injective,
)
from parpass.relay.op.nn.padding import MirrorPadAttrs, PadAttrs
from parpass.tir import op
from parpass.tir.expr import PrimExpr, Select


@register_injective("nn.pad")
def _pad(call: OpCall[PadAttrs], indices: Indices) -> PrimExpr:
    attrs = call.attrs
    data, value = call.sources
    if attrs.pad_mode == "edge":
        return data.at(_nearest(indices, attrs.pad_width, data.shape))
    if attrs.pad_mode == "reflect":
        return data.at(_mirrored(indices, attrs.pad_width, data.shape, 1))
    places: list[PrimExpr] = []
    inside: list[PrimExpr] = []
    widths = zip(indices, attrs.pad_width, data.shape, strict=True)
    for index, (before, after), dim in widths:
        place = op.subtract(index, before)
        places.append(place)
        if before:
            inside.append(place >= 0)
        if after:
            inside.append(place < dim)
    filler = op.cast_to(value.at(()), call.out.dtype)
    if not inside:
        return data.at(places)
    return op.if_then_else(op.all(*inside), data.at(places), filler)


@register_injective("nn.mirror_pad")
def _mirror_pad(call: OpCall[MirrorPadAttrs], indices: Indices) -> PrimExpr:
    (data,) = call.sources
    skipped = 0 if call.attrs.mode == "SYMMETRIC" else 1
    return data.at(_mirrored(indices, call.attrs.pad_width, data.shape, skipped))


Widths = Sequence[tuple[int, int]]


def _nearest(indices: Indices, widths: Widths, shape: Sequence[int]) -> list[PrimExpr]:
    found: list[PrimExpr] = []
    for index, (before, after), dim in zip(indices, widths, shape, strict=True):
        place = op.subtract(index, before)
        _require_elements(dim, before + after)
        found.append(op.maximum(op.minimum(place, dim - 1), 0))
    return found


def _mirrored(
    indices: Indices, widths: Widths, shape: Sequence[int], skipped: int
) -> list[PrimExpr]:
    """Return the places that mirrors at the edges show.

    Args:
        indices: The indices of the padded tensor.
        widths: How much it is padded.
        shape: The shape of the data.
        skipped: 1 where the element at an edge is not shown twice.
    """
    found: list[PrimExpr] = []
    for index, (before, after), dim in zip(indices, widths, shape, strict=True):
        place = op.subtract(index, before)
        if before or after:
            _require_elements(dim, before + after)
            # To and fro: so long is it until all comes again.
            period = max(2 * (dim - skipped), 1)
            place = op.floormod(place, period)
            place = Select(place < dim, place, period - 1 + skipped - place)
        found.append(place)
    return found


def _require_elements(dim: int, width: int) -> None:
    if width and not dim:
        raise NoRuleError("an edge of what has no elements")
