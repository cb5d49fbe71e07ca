"""Transposed convolution, which spreads each element over a window.

It is the convolution, with the flipped weight, of images with zeros between their
elements and around them. As in all convolutions, zeros are multiplied, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

import numpy as np

from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import Ints, in_layout, of_rank
from parpass.relay.op.declaration.build import OUT_ELEMWISE_FUSABLE, BuilderT, operator
from parpass.relay.op.declaration.layout import SPATIAL, transform_layout
from parpass.relay.op.declaration.type_relations import agree, product, tensors
from parpass.relay.op.nn.conv import (
    Conv1DAttrs,
    Conv2DAttrs,
    Conv3DAttrs,
    ConvAttrs,
    checked_channels,
    convolved,
    in_channels,
    operand_shapes,
    result_type,
    with_weight,
)

__all__ = ["conv1d_transpose", "conv2d_transpose", "conv3d_transpose"]


class ConvTransposeAttrs(ConvAttrs, frozen=True):
    """Common attributes of transposed convolutions.

    Attributes:
        output_padding: The additional length at the end of each axis of the result.
    """

    output_padding: tuple[int, ...] = ()


class Conv1DTransposeAttrs(Conv1DAttrs, ConvTransposeAttrs, frozen=True):
    """Attributes of `nn.conv1d_transpose`."""

    output_padding: Annotated[tuple[int], of_rank(1, at_least=0)] = (0,)
    kernel_layout: Annotated[str, in_layout("IOW")] = "IOW"


class Conv2DTransposeAttrs(Conv2DAttrs, ConvTransposeAttrs, frozen=True):
    """Attributes of `nn.conv2d_transpose`."""

    output_padding: Annotated[tuple[int, int], of_rank(2, at_least=0)] = (0, 0)
    kernel_layout: Annotated[str, in_layout("IOHW")] = "IOHW"


class Conv3DTransposeAttrs(Conv3DAttrs, ConvTransposeAttrs, frozen=True):
    """Attributes of `nn.conv3d_transpose`."""

    output_padding: Annotated[tuple[int, int, int], of_rank(3, at_least=0)] = (0, 0, 0)
    kernel_layout: Annotated[str, in_layout("IODHW")] = "IODHW"


def _conv_transpose(
    data: Expr,
    weight: Expr,
    strides: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    channels: int | None = None,
    kernel_size: Ints | None = None,
    groups: int = 1,
    data_layout: str = ...,
    kernel_layout: str = ...,
    out_layout: str = "",
    output_padding: Ints = 0,
    out_dtype: str = "",
) -> Call:
    """Build a call of a transposed convolution; padding is cropped from the result.

    An infinite or NaN weight gives NaN wherever no element of the data reaches by it;
    see `conv`.

    Raises:
        IRTypeError: An attribute is out of its range, or no such layout exists.
    """
    ...


def _length(length: Dim, size: Dim, axis: int, attrs: ConvTransposeAttrs) -> Dim:
    """Return the length of the result along an axis."""
    if isinstance(length, UnknownDim) or isinstance(size, UnknownDim):
        return UnknownDim()
    return _known_length(length, size, axis, attrs)


def _known_length(length: int, size: int, axis: int, attrs: ConvTransposeAttrs) -> int:
    full = (length - 1) * attrs.strides[axis] + (size - 1) * attrs.dilation[axis] + 1
    cut = attrs.padding[axis] + attrs.padding[axis + len(attrs.strides)]
    if full + attrs.output_padding[axis] <= cut:
        raise TypeRelationError(
            f"expected padding below {full + attrs.output_padding[axis]}, got {cut}"
        )
    return full - cut + attrs.output_padding[axis]


def _relation(types: Sequence[Type], attrs: ConvTransposeAttrs) -> TensorType:
    data, weight = tensors(types)
    image, kernel = operand_shapes(data, weight, attrs, "IO")
    entering = image[1]
    if not agree(kernel[0], entering):
        raise TypeRelationError(
            f"expected a weight of {entering} input channels, got {weight}"
        )
    if isinstance(entering, int) and entering % attrs.groups:
        raise TypeRelationError(
            f"expected input channels that {attrs.groups} groups divide, got {entering}"
        )
    channels = product((kernel[1], attrs.groups))
    channels = checked_channels(attrs, weight, channels, kernel[2:])
    sizes = enumerate(zip(image[2:], kernel[2:], strict=True))
    lengths = (_length(length, size, axis, attrs) for axis, (length, size) in sizes)
    return result_type(data, attrs, (image[0], channels, *lengths))


def _arguments(
    types: Sequence[Type | None], attrs: ConvTransposeAttrs
) -> Sequence[Type | None]:
    if not isinstance(types[0], TensorType) or attrs.channels is None:
        return types
    channels = in_channels(types[0], attrs), attrs.channels // attrs.groups
    return with_weight(types, attrs, f"IO{SPATIAL[len(attrs.strides)]}", channels)


class _UnitStride(NamedTuple):
    """The sliding of the flipped weight over data with zeros inserted."""

    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]


def _spread(attrs: ConvTransposeAttrs, data: Array, weight: Array) -> Array:
    rank, groups = len(attrs.strides), attrs.groups
    canonical = f"NC{SPATIAL[rank]}"
    dtype = attrs.out_dtype or data.dtype.name
    data = transform_layout(data, attrs.data_layout, canonical)
    weight = transform_layout(weight, attrs.kernel_layout, f"IO{SPATIAL[rank]}")
    entering, leaving, *kernel = weight.shape
    by_group = weight.reshape(groups, entering // groups, leaving, *kernel)
    turned = np.flip(by_group.swapaxes(1, 2), (*range(3, 3 + rank),))
    turned = turned.reshape(groups * leaving, entering // groups, *kernel)
    how = _UnitStride((1,) * rank, (0,) * 2 * rank, attrs.dilation)
    spaced = _with_zeros(attrs, data, kernel)
    result = convolved(spaced, turned, how, groups, dtype)
    return transform_layout(result, canonical, attrs.out_layout or attrs.data_layout)


def _with_zeros(attrs: ConvTransposeAttrs, data: Array, kernel: Sequence[int]) -> Array:
    """Return images with zeros inserted between elements and around them."""
    sizes: list[int] = []
    from_data: list[slice] = []
    places: list[slice] = []
    for axis, (length, size) in enumerate(zip(data.shape[2:], kernel, strict=True)):
        stride, reach = attrs.strides[axis], (size - 1) * attrs.dilation[axis]
        before = reach - attrs.padding[axis]  # cropping may be negative
        whole = _known_length(length, size, axis, attrs) + reach
        first = max(0, -(before // stride))
        end = min(whole, before + (length - 1) * stride + 1)
        seen = range(before + first * stride, end, stride)
        sizes.append(whole)
        from_data.append(slice(first, first + len(seen)))
        places.append(slice(seen.start, max(seen.start, seen.stop), stride))
    found = np.zeros((*data.shape[:2], *sizes), data.dtype)
    found[(..., *places)] = data[(..., *from_data)]
    return found


def _registered(
    name: str, kind: type[ConvTransposeAttrs], doc: str
) -> Callable[[BuilderT], BuilderT]:
    return operator(
        f"nn.{name}",
        _relation,
        _spread,
        kind,
        doc=doc,
        pattern=OUT_ELEMWISE_FUSABLE,
        argument_types=_arguments,
    )


conv1d_transpose = _registered(
    "conv1d_transpose", Conv1DTransposeAttrs, "Spread signals through a weight."
)(_conv_transpose)
conv2d_transpose = _registered(
    "conv2d_transpose", Conv2DTransposeAttrs, "Spread images through a weight."
)(_conv_transpose)
conv3d_transpose = _registered(
    "conv3d_transpose", Conv3DTransposeAttrs, "Spread volumes through a weight."
)(_conv_transpose)
