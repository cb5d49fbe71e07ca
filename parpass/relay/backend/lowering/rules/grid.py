"""Ranges of numbers, and grids of coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.relay.backend.lowering.template import (
    Indices,
    NoRuleError,
    Result,
    Source,
    register_injective,
)
from parpass.relay.op.transform.grid import ArangeAttrs, MeshgridAttrs
from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.prim_expr import PrimExpr


@register_injective("arange")
def _arange(
    _attrs: ArangeAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    start, _, step = (one.at(()) for one in sources)
    kinds = [data_type(one.dtype) for one in (start, step)]
    if any(kind == data_type("uint64") for kind in kinds):
        raise NoRuleError("a range of uint64")
    is_real = any(kind.is_floating for kind in kinds)
    wide = "float64" if is_real else "int64"  # as of numpy's arrays
    count = op.cast_to(op.cast_to(indices[0], "int64"), wide)
    more = op.multiply(count, op.cast_to(step, wide))
    return op.cast_to(op.add(op.cast_to(start, wide), more), out.dtype)


@register_injective("meshgrid")
def _meshgrid(
    attrs: MeshgridAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    axis, source = out.field, sources[out.field]
    if attrs.indexing == "xy" and len(sources) > 1 and axis < 2:
        axis = 1 - axis
    return source.at([indices[axis]] if source.shape else [])
