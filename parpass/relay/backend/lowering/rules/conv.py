"""Convolutions, in any layout: plain loops, for whatever no faster template takes."""

from __future__ import annotations

from parpass.relay.backend.lowering.index_maps import (
    axis_lengths,
    axis_values,
    layout_indices,
    window_element,
)
from parpass.relay.backend.lowering.loops import zero
from parpass.relay.backend.lowering.reduction_loops import reductions
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    OpCall,
    Store,
    register_template,
)
from parpass.relay.op.declaration.layout import SPATIAL
from parpass.relay.op.nn.conv import ConvAttrs
from parpass.relay.op.nn.conv_transpose import ConvTransposeAttrs
from parpass.tir import op
from parpass.tir.expr import PrimExpr
from parpass.tir.stmt import Stmt


@register_template(
    *(f"nn.conv{rank}d" for rank in (1, 2, 3)),
    "nn.contrib_conv2d_NCHWc",
    "nn.contrib_depthwise_conv2d_NCHWc",
)
def _conv(call: OpCall[ConvAttrs], store: Store) -> Stmt:
    """Return loops over the result, and within them sums over channels and windows."""
    attrs, out = call.attrs, call.out
    data, weight = call.sources
    spatial = SPATIAL[len(attrs.strides)]
    layout = attrs.out_layout or attrs.data_layout
    image = axis_lengths(data.shape, attrs.data_layout, f"NC{spatial}")
    kernel = axis_lengths(weight.shape, attrs.kernel_layout, f"OI{spatial}")
    counts = axis_lengths(out.shape, layout, f"NC{spatial}")
    # Channels of the result; where there are none, nobody asks for one.
    per_group = max(1, kernel[0] // attrs.groups)

    def product(indices: Indices, k: Indices) -> PrimExpr:
        at = axis_values(indices, layout)
        channel = k[0]
        if attrs.groups > 1:
            channel = op.floordiv(at["C"], per_group) * kernel[1] + k[0]
        window = window_element(
            *(attrs, [at[axis] for axis in spatial], k[1:]),
            *(image[2:], counts[2:], kernel[2:]),
        )
        places = dict(zip(spatial, window.places, strict=True))
        read = {"N": at["N"], "C": channel, **places}
        x = data.at(layout_indices(read, attrs.data_layout))
        x = window.if_inside(x, zero(x.dtype))
        within = {"O": at["C"], "I": k[0], **dict(zip(spatial, k[1:], strict=True))}
        y = weight.at(layout_indices(within, attrs.kernel_layout))
        x, y = (op.cast_to(one, out.dtype) for one in (x, y))
        return op.multiply(x, y)

    return reductions(out, kernel[1:], product, store, call.target)


@register_template(*(f"nn.conv{rank}d_transpose" for rank in (1, 2, 3)))
def _conv_transpose(call: OpCall[ConvTransposeAttrs], store: Store) -> Stmt:
    """Return loops over the result: each element asks which of the data reach it."""
    attrs = call.attrs
    data, weight = call.sources
    rank = len(attrs.strides)
    spatial = SPATIAL[rank]
    layout = attrs.out_layout or attrs.data_layout
    image = axis_lengths(data.shape, attrs.data_layout, f"NC{spatial}")
    kernel = axis_lengths(weight.shape, attrs.kernel_layout, f"IO{spatial}")
    entering = image[1] // attrs.groups
    leaving = max(1, kernel[1])  # as above

    def product(indices: Indices, k: Indices) -> PrimExpr:
        at = axis_values(indices, layout)
        channel = op.floordiv(at["C"], leaving) * entering + k[0]
        channel_out = op.floormod(at["C"], leaving)
        reached: list[PrimExpr] = []
        places: dict[str, PrimExpr] = {}
        for axis, letter in enumerate(spatial):
            begun = op.subtract(
                at[letter] + attrs.padding[axis], k[axis + 1] * attrs.dilation[axis]
            )
            stride = attrs.strides[axis]
            place = op.floordiv(begun, stride)
            reached += [place >= 0, place < image[axis + 2]]
            if stride > 1:
                reached.append(op.equal(op.floormod(begun, stride), 0))
            places[letter] = place
        read = {"N": at["N"], "C": channel, **places}
        x = data.at(layout_indices(read, attrs.data_layout))
        x = op.if_then_else(op.all(*reached), x, zero(x.dtype))
        window = dict(zip(spatial, k[1:], strict=True))
        within = {"I": channel, "O": channel_out, **window}
        y = weight.at(layout_indices(within, attrs.kernel_layout))
        x, y = (op.cast_to(one, call.out.dtype) for one in (x, y))
        return op.multiply(x, y)

    over = (entering, *kernel[2:])
    return reductions(call.out, over, product, store, call.target)
