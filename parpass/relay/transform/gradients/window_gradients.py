"""Gradients of convolutions and poolings of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from parpass.errors import IRError
from parpass.ir.types import TensorType
from parpass.relay import op
from parpass.relay.expr import Call, Expr
from parpass.relay.op import nn
from parpass.relay.op.declaration.layout import SPATIAL, transformed_shape
from parpass.relay.transform.gradients.pointwise_gradients import Gradient


def _layout_changed(expr: Expr, before: str, after: str) -> Expr:
    return expr if before == after else op.layout_transform(expr, before, after)


def _lengths(expr: Expr, layout: str, wanted: str) -> tuple[int, ...]:
    """Return the lengths of a tensor in a layout."""
    typ = cast("TensorType", expr.checked_type)
    shape = transformed_shape(typ.shape, layout, wanted)
    if not all(isinstance(dim, int) for dim in shape):
        raise IRError(f"expected a known shape to differentiate by, got {typ}")
    return cast("tuple[int, ...]", shape)


def _conv(rank: int) -> Gradient:
    """Return the gradient of a convolution over images of a rank.

    Both parts are convolutions (Dumoulin and Visin, A guide to convolution arithmetic
    for deep learning, 2016): that of the data a transposed one by the weight; that of
    the weight one of the data by the gradient, in which batch and channels have changed
    their places, and so have strides and dilation.
    """
    image, kernel = f"NC{SPATIAL[rank]}", f"OI{SPATIAL[rank]}"
    convolve = getattr(nn, f"conv{rank}d")
    transpose = getattr(nn, f"conv{rank}d_transpose")

    def gradient(call: Call, grad: Expr) -> list[Expr]:
        attrs = call.attrs
        data = _layout_changed(call.args[0], attrs.data_layout, image)
        weight = _layout_changed(call.args[1], attrs.kernel_layout, kernel)
        out = _layout_changed(grad, attrs.out_layout or attrs.data_layout, image)
        sizes = _Sizes(
            _lengths(call.args[0], attrs.data_layout, image),
            _lengths(call.args[1], attrs.kernel_layout, kernel),
            _lengths(call, attrs.out_layout or attrs.data_layout, image),
            attrs,
        )
        if attrs.out_dtype:
            out = op.cast_like(out, call.args[0])
        by_data = transpose(
            out,
            weight,
            attrs.strides,
            attrs.padding,
            attrs.dilation,
            sizes.channels,
            sizes.kernel,
            attrs.groups,
            output_padding=sizes.left_over(),
        )
        by_weight = _by_weight(convolve, sizes, data, out)
        return [
            _layout_changed(by_data, image, attrs.data_layout),
            _layout_changed(by_weight, kernel, attrs.kernel_layout),
        ]

    return gradient


class _Sizes:
    """The lengths of a convolution's tensors.

    Args:
        data: Those of the data.
        weight: Those of the weight.
        result: Those of the result.
        attrs: The convolution's attributes.
    """

    def __init__(
        self,
        data: Sequence[int],
        weight: Sequence[int],
        result: Sequence[int],
        attrs: Any,
    ) -> None:
        self.batch, self.channels, *self.image = data
        self.out_channels, self.group_channels, *self.kernel = weight
        self.result = result[2:]
        self.attrs = attrs

    def left_over(self) -> list[int]:
        """Return what no window reaches at the end of each axis."""
        attrs = self.attrs
        rank = len(self.image)
        found: list[int] = []
        for axis in range(rank):
            extent = (self.kernel[axis] - 1) * attrs.dilation[axis] + 1
            reached = (self.result[axis] - 1) * attrs.strides[axis] + extent
            padded = attrs.padding[axis] + attrs.padding[axis + rank]
            found.append(self.image[axis] + padded - reached)
        return found


def _by_weight(convolve: Any, sizes: _Sizes, data: Expr, grad: Expr) -> Expr:
    attrs, groups = sizes.attrs, sizes.attrs.groups
    rank = len(sizes.image)
    spatial = range(2, 2 + rank)
    swapped = (1, 0, *spatial)
    grouped = (sizes.batch, groups, sizes.group_channels, *sizes.image)
    by_group = op.transpose(
        op.reshape(data, grouped), (2, 1, 0, *(at + 1 for at in spatial))
    )
    images = op.reshape(
        by_group, (sizes.group_channels, groups * sizes.batch, *sizes.image)
    )
    correlated = convolve(
        images,
        op.transpose(grad, swapped),
        strides=attrs.dilation,
        padding=attrs.padding,
        dilation=attrs.strides,
        groups=groups,
    )
    wanted = (sizes.group_channels, sizes.out_channels, *sizes.kernel)
    if any(sizes.left_over()):
        correlated = op.strided_slice(correlated, (0,) * len(wanted), wanted)
    return op.transpose(correlated, swapped)


def _pool(call: Call, grad: Expr) -> list[Expr]:
    (data,) = call.args
    attrs = {name: getattr(call.attrs, name) for name in call.attrs.__struct_fields__}
    name = cast("op.Op", call.op).name.removeprefix("nn.")
    return [getattr(nn, f"{name}_grad")(grad, data, **attrs)]


def _global_avg_pool(call: Call, grad: Expr) -> list[Expr]:
    (data,) = call.args
    layout = call.attrs.layout
    size = _lengths(data, layout, "NCHW")[2:]
    out_layout = call.attrs.out_layout
    return [nn.avg_pool2d_grad(grad, data, size, layout=layout, out_layout=out_layout)]


WINDOWS: Mapping[str, Gradient] = {
    "nn.avg_pool2d": _pool,
    "nn.conv1d": _conv(1),
    "nn.conv2d": _conv(2),
    "nn.conv3d": _conv(3),
    "nn.global_avg_pool2d": _global_avg_pool,
    "nn.max_pool2d": _pool,
}
