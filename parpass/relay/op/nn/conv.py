"""Convolution of signals, images and volumes, in any layout.

An image is padded with zeros, which are multiplied as its elements are: a window that
reaches over the edge with an infinite or NaN weight gives NaN. TVM's does so. That
holds for every implementation of a convolution, by numpy, loops or machine code; and
for the zeros that a transposed one has between elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import (
    NCDHW,
    NCHW,
    NCW,
    Count,
    Ints,
    MaybeDType,
    MaybeNCDHW,
    MaybeNCHW,
    MaybeNCW,
    One,
    Pair,
    Sides1D,
    Sides2D,
    Sides3D,
    Triple,
    in_layout,
)
from parpass.relay.op.declaration.build import OUT_ELEMWISE_FUSABLE, BuilderT, operator
from parpass.relay.op.declaration.layout import (
    SPATIAL,
    transform_layout,
    transformed_shape,
)
from parpass.relay.op.declaration.type_relations import (
    Shape,
    agree,
    require_number,
    require_same_dtype,
    tensors,
    unify,
)
from parpass.relay.op.nn.linear import matrix_product
from parpass.relay.op.nn.windows import Sliding, window_counts, window_dims, windows

__all__ = [
    "contrib_conv2d_nchwc", "contrib_depthwise_conv2d_nchwc", "conv1d", "conv2d",
    "conv3d",
]  # fmt: skip


class ConvAttrs(Attrs, frozen=True):
    """Common attributes of convolutions.

    Attributes:
        strides: The step from one window to the next, for each axis.
        padding: The padding before each axis, then after each: for images at top, left,
            bottom and right.
        dilation: The step from one element of a window to the next.
        groups: The number of groups of channels, which are convolved separately.
        channels: The number of output channels; None for that of the weight.
        kernel_size: The lengths of the kernel; None for those of the weight.
        out_layout: Empty for the data's layout.
        out_dtype: Empty for the data's dtype.
    """

    strides: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    groups: Count = 1
    channels: Count | None = None
    kernel_size: tuple[int, ...] | None = None
    data_layout: str = ""
    kernel_layout: str = ""
    out_layout: str = ""
    out_dtype: MaybeDType = ""


class Conv1DAttrs(ConvAttrs, frozen=True):
    """Attributes of `nn.conv1d`."""

    strides: One = (1,)
    padding: Sides1D = (0, 0)
    dilation: One = (1,)
    kernel_size: One | None = None
    data_layout: NCW = "NCW"
    kernel_layout: Annotated[str, in_layout("OIW")] = "OIW"
    out_layout: MaybeNCW = ""


class Conv2DAttrs(ConvAttrs, frozen=True):
    """Attributes of `nn.conv2d` and of its forms for blocked layouts."""

    strides: Pair = (1, 1)
    padding: Sides2D = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    kernel_size: Pair | None = None
    data_layout: NCHW = "NCHW"
    kernel_layout: Annotated[str, in_layout("OIHW")] = "OIHW"
    out_layout: MaybeNCHW = ""


class Conv3DAttrs(ConvAttrs, frozen=True):
    """Attributes of `nn.conv3d`."""

    strides: Triple = (1, 1, 1)
    padding: Sides3D = (0, 0, 0, 0, 0, 0)
    dilation: Triple = (1, 1, 1)
    kernel_size: Triple | None = None
    data_layout: NCDHW = "NCDHW"
    kernel_layout: Annotated[str, in_layout("OIDHW")] = "OIDHW"
    out_layout: MaybeNCDHW = ""


def _conv(
    data: Expr,
    weight: Expr,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Ints | None = None,
    data_layout: str = ...,
    kernel_layout: str = ...,
    out_layout: str = "",
    out_dtype: str = "",
) -> Call:
    """Build a call of a convolution.

    Padding is one int for all sides, one for each axis, or one for each side: all those
    before the axes, then all those after them. It is zeros, which are multiplied by
    weights as the data are: an infinite weight gives NaN.

    Raises:
        IRTypeError: An attribute is out of its range, or no such layout exists.
    """
    ...


def conv_relation(types: Sequence[Type], attrs: ConvAttrs) -> TensorType:
    """Relate data and weight to the result of a convolution."""
    data, weight = tensors(types)
    image, kernel = operand_shapes(data, weight, attrs, "OI")
    out_channels = checked_channels(attrs, weight, kernel[0], kernel[2:])
    _check_groups(image[1], out_channels, kernel[1], attrs.groups)
    counts = window_dims(image[2:], kernel[2:], attrs)
    return result_type(data, attrs, (image[0], out_channels, *counts))


def _conv_arguments(
    types: Sequence[Type | None], attrs: ConvAttrs
) -> Sequence[Type | None]:
    if not isinstance(types[0], TensorType) or attrs.channels is None:
        return types
    channels = attrs.channels, _part(in_channels(types[0], attrs), attrs.groups)
    return with_weight(types, attrs, f"OI{SPATIAL[len(attrs.strides)]}", channels)


def in_channels(data: TensorType, attrs: ConvAttrs) -> Dim:
    """Return the number of input channels."""
    spatial = SPATIAL[len(attrs.strides)]
    return transformed_shape(data.shape, attrs.data_layout, f"NC{spatial}")[1]


def _part(channels: Dim, groups: int) -> Dim:
    return channels if isinstance(channels, UnknownDim) else channels // groups


def with_weight(
    types: Sequence[Type | None], attrs: ConvAttrs, layout: str, channels: Shape
) -> Sequence[Type | None]:
    """Return the types of data and weight, the weight's from its channels.

    Without a kernel size the weight's type is unknown.

    Args:
        types: The types that are known.
        attrs: The attributes.
        layout: The order of a weight's axes, channels first.
        channels: The numbers of channels, in that order.
    """
    data, weight = types
    if attrs.kernel_size is None or not isinstance(data, TensorType):
        return types
    shape = (*channels, *attrs.kernel_size)
    shape = transformed_shape(shape, layout, attrs.kernel_layout)
    return data, weight or TensorType(shape, data.dtype)


def operand_shapes(
    data: TensorType, weight: TensorType, attrs: ConvAttrs, channels: str
) -> tuple[Shape, Shape]:
    """Return the shapes of data and weight, batch and channels first.

    The order of the weight's channels is `OI` or `IO`.

    Raises:
        TypeRelationError: They are not in these layouts, or of the wrong dtypes.
    """
    if not attrs.out_dtype:
        require_same_dtype((data, weight))
    require_number(data)
    require_number(weight)
    spatial = SPATIAL[len(attrs.strides)]
    image = transformed_shape(data.shape, attrs.data_layout, f"NC{spatial}")
    kernel = transformed_shape(
        weight.shape, attrs.kernel_layout, f"{channels}{spatial}"
    )
    if 0 in kernel[2:]:
        raise TypeRelationError(f"expected a kernel of lengths from 1 on, got {weight}")
    return image, kernel


def result_type(data: TensorType, attrs: ConvAttrs, shape: Shape) -> TensorType:
    """Return the type of a result whose shape is known, batch and channels first."""
    layout = attrs.out_layout or attrs.data_layout
    shape = transformed_shape(shape, f"NC{SPATIAL[len(attrs.strides)]}", layout)
    return TensorType(shape, attrs.out_dtype or data.dtype)


def checked_channels(
    attrs: ConvAttrs, weight: TensorType, out_channels: Dim, kernel: Shape
) -> Dim:
    """Return the output channels, checked against the attributes.

    Raises:
        TypeRelationError: The weight's shape contradicts the attributes.
    """
    if attrs.channels is not None:
        if not agree(attrs.channels, out_channels):
            raise TypeRelationError(f"expected {attrs.channels} channels, got {weight}")
        out_channels = unify(out_channels, attrs.channels)
    if attrs.kernel_size is not None and not all(map(agree, attrs.kernel_size, kernel)):
        raise TypeRelationError(
            f"expected a kernel of {attrs.kernel_size}, got {weight}"
        )
    return out_channels


def _check_groups(
    in_channels: Dim, out_channels: Dim, group_channels: Dim, groups: int
) -> None:
    if isinstance(out_channels, int) and out_channels % groups:
        raise TypeRelationError(
            f"expected output channels that {groups} groups divide, got {out_channels}"
        )
    if isinstance(in_channels, UnknownDim) or isinstance(group_channels, UnknownDim):
        return
    if in_channels != group_channels * groups:
        raise TypeRelationError(
            f"expected {groups} x {group_channels} input channels (groups x the "
            f"weight's), got {in_channels}"
        )


def _convolve(attrs: ConvAttrs, data: Array, weight: Array) -> Array:
    spatial = SPATIAL[len(attrs.strides)]
    data = transform_layout(data, attrs.data_layout, f"NC{spatial}")
    weight = transform_layout(weight, attrs.kernel_layout, f"OI{spatial}")
    dtype = attrs.out_dtype or data.dtype.name
    result = convolved(data, weight, attrs, attrs.groups, dtype)
    return transform_layout(
        result, f"NC{spatial}", attrs.out_layout or attrs.data_layout
    )


def convolved(
    data: Array, weight: Array, how: Sliding, groups: int, dtype: str
) -> Array:
    """Return the sums of products of windows and a weight.

    Args:
        data: Images, batch and channels first.
        weight: The weight: output channels, channels of a group, then kernel lengths.
        how: The sliding of windows.
        groups: The number of groups of channels.
        dtype: The dtype of the result.
    """
    batch, _, *image = data.shape
    out_channels, _, *kernel = weight.shape
    counts = window_counts(tuple(image), tuple(kernel), how)
    view = windows(data, tuple(kernel), how, counts, fill=0)
    rows = weight.reshape(groups, out_channels // groups, math.prod(weight.shape[1:]))
    # As many windows at a time as fit into a limit: copied out they take the memory of
    # the image times the size of the kernel.
    step = max(1, _WINDOWS_AT_ONCE * max(counts[0], 1) // max(view.nbytes, 1))
    at, parts = len(kernel) + 2, list[Array]()
    for start in range(0, max(counts[0], 1), step):
        some = view[(slice(None),) * at + (slice(start, start + step),)]
        columns = _columns(some, len(kernel), groups, rows.shape[-1])
        places = some.shape[at:]
        product = matrix_product(rows, columns, dtype)
        parts.append(product.reshape(batch, out_channels, *places))
    return np.concatenate(parts, 2) if len(parts) > 1 else parts[0]


_WINDOWS_AT_ONCE = 2**26  # bytes


def _columns(view: Array, rank: int, groups: int, size: int) -> Array:
    """Return windows as matrices by image and group: (elements) x (positions).

    So there is one product for each image and group: (output channels) x (elements of
    the window) times these.
    """
    order = (rank, rank + 1, *range(rank), *range(rank + 2, view.ndim))
    places = math.prod(view.shape[rank + 2 :])
    return view.transpose(order).reshape(view.shape[rank], groups, size, places)


def _registered(
    name: str, kind: type[ConvAttrs], doc: str
) -> Callable[[BuilderT], BuilderT]:
    return operator(
        f"nn.{name}",
        conv_relation,
        _convolve,
        kind,
        doc=doc,
        pattern=OUT_ELEMWISE_FUSABLE,
        argument_types=_conv_arguments,
    )


conv1d = _registered("conv1d", Conv1DAttrs, "Convolve signals with a weight.")(_conv)
conv2d = _registered("conv2d", Conv2DAttrs, "Convolve images with a weight.")(_conv)
conv3d = _registered("conv3d", Conv3DAttrs, "Convolve volumes with a weight.")(_conv)
contrib_conv2d_nchwc = _registered(
    "contrib_conv2d_NCHWc",
    Conv2DAttrs,
    "Convolve images in a blocked layout, such as NCHW8c with OIHW8i8o.",
)(_conv)
contrib_depthwise_conv2d_nchwc = _registered(
    "contrib_depthwise_conv2d_NCHWc",
    Conv2DAttrs,
    "Convolve each channel by itself in a blocked layout, such as OIHW1i8o.",
)(_conv)
