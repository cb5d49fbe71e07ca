"""Operators that rearrange dimensions, or tell about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from parpass.relay.backend.lowering.places import (
    broadcast_at,
    relaid_indices,
    reshaped,
    zero_like,
)
from parpass.relay.backend.lowering.template import (
    Indices,
    Result,
    Source,
    register_injective,
)
from parpass.relay.op.declaration.relations import normal_axes, normal_axis
from parpass.relay.op.transform.shape import (
    ExpandDimsAttrs,
    SqueezeAttrs,
    TransposeAttrs,
)
from parpass.relay.op.transform.to_layout import LayoutTransformAttrs
from parpass.tir import op
from parpass.tir.buffer import BufferLoad, decl_buffer
from parpass.tir.expr import Select
from parpass.tir.prim_expr import PrimExpr


@register_injective("transpose")
def _transpose(
    attrs: TransposeAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    rank = len(out.shape)
    axes = range(rank)[::-1] if attrs.axes is None else normal_axes(attrs.axes, rank)
    found = dict(zip(axes, indices, strict=True))
    return sources[0].at([found[axis] for axis in range(rank)])


@register_injective("expand_dims")
def _expand_dims(
    attrs: ExpandDimsAttrs, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    at = normal_axis(attrs.axis, len(sources[0].shape) + 1)
    return sources[0].at([*indices[:at], *indices[at + attrs.num_newaxis :]])


@register_injective("squeeze")
def _squeeze(
    attrs: SqueezeAttrs, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    shape = sources[0].shape
    if attrs.axis is None:
        gone = [axis for axis, dim in enumerate(shape) if dim == 1]
    else:
        gone = [*normal_axes(attrs.axis, len(shape))]
    left = iter(indices)
    zero = zero_like(indices[0]) if indices else op.const(0, "int32")
    return sources[0].at(
        [zero if axis in gone else next(left) for axis in range(len(shape))]
    )


@register_injective("broadcast_to", "broadcast_to_like")
def _broadcast_to(
    _attrs: Any, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    return broadcast_at(sources[0], indices)


@register_injective(
    "reshape", "reshape_like", "contrib_reverse_reshape", "nn.batch_flatten"
)
def _reshape(
    _attrs: Any, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    (source, *_) = sources
    if source.buffer is not None and source.dtype == source.buffer.dtype:
        # The same memory in another shape: no place is to be worked out.
        old = source.buffer
        view = decl_buffer(out.shape, old.dtype, old.name, old.data)
        return BufferLoad(view, indices)
    return source.at(reshaped(indices, out.shape, source.shape))


@register_injective("layout_transform")
def _layout_transform(
    attrs: LayoutTransformAttrs,
    sources: Sequence[Source],
    _out: Result,
    indices: Indices,
) -> PrimExpr:
    return sources[0].at(relaid_indices(indices, attrs.dst_layout, attrs.src_layout))


@register_injective("shape_of", "vm.shape_of")
def _shape_of(
    _attrs: Any, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    dims = [op.const(dim, out.dtype) for dim in sources[0].shape]
    found = dims[0] if dims else op.const(0, out.dtype)
    for at, dim in enumerate(dims[1:], 1):
        found = Select(op.equal(indices[0], at), dim, found)
    return found


@register_injective("ndarray_size")
def _ndarray_size(
    _attrs: Any, sources: Sequence[Source], out: Result, _indices: Indices
) -> PrimExpr:
    return op.const(math.prod(sources[0].shape), out.dtype)
