"""Transposed convolution, which spreads each element through a window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from parpass.ir.op_table import Op, OpPattern, TypeRelationError, register_op
from parpass.ir.ty import Any as UnknownDim
from parpass.ir.ty import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.attributes import (
    Ints,
    ints_of_rank,
    optional_dtype,
)
from parpass.relay.op.build import call_op
from parpass.relay.op.layout import SPATIAL, relaid, relaid_shape
from parpass.relay.op.nn.conv import (
    ConvAttrs,
    checked_attrs,
    checked_channels,
    checked_layouts,
)
from parpass.relay.op.nn.products import matrix_product
from parpass.relay.op.nn.windows import Pair
from parpass.relay.op.relations import (
    agree,
    product,
    require_number,
    require_same_dtype,
    tensors,
)
from parpass.runtime.dtypes import computed_in, numpy_dtype

Array = npt.NDArray[Any]


class ConvTransposeAttrs(ConvAttrs, frozen=True):
    """What the attributes of transposed convolutions have in common.

    Attributes:
        output_padding: How much longer the result is at the end of each axis.
    """

    output_padding: tuple[int, ...] = ()


class Conv1DTransposeAttrs(ConvTransposeAttrs, frozen=True):
    """Attributes of `nn.conv1d_transpose`."""

    strides: tuple[int] = (1,)
    padding: Pair = (0, 0)
    dilation: tuple[int] = (1,)
    output_padding: tuple[int] = (0,)
    kernel_size: tuple[int] | None = None
    data_layout: str = "NCW"
    kernel_layout: str = "IOW"


class Conv2DTransposeAttrs(ConvTransposeAttrs, frozen=True):
    """Attributes of `nn.conv2d_transpose`."""

    strides: Pair = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    output_padding: Pair = (0, 0)
    kernel_size: Pair | None = None
    data_layout: str = "NCHW"
    kernel_layout: str = "IOHW"


class Conv3DTransposeAttrs(ConvTransposeAttrs, frozen=True):
    """Attributes of `nn.conv3d_transpose`."""

    strides: tuple[int, int, int] = (1, 1, 1)
    padding: tuple[int, int, int, int, int, int] = (0, 0, 0, 0, 0, 0)
    dilation: tuple[int, int, int] = (1, 1, 1)
    output_padding: tuple[int, int, int] = (0, 0, 0)
    kernel_size: tuple[int, int, int] | None = None
    data_layout: str = "NCDHW"
    kernel_layout: str = "IODHW"


class ConvTransposeBuilder(Protocol):
    """Builds a call of a transposed convolution."""

    def __call__(
        self,
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
        """Return the call; padding is cut off the result.

        Raises:
            IRTypeError: An attribute is out of its range, or no such layout exists.
        """
        ...


def _length(length: Dim, size: Dim, axis: int, attrs: ConvTransposeAttrs) -> Dim:
    """Return the length of the result along an axis."""
    if isinstance(length, UnknownDim) or isinstance(size, UnknownDim):
        return UnknownDim()
    full = (length - 1) * attrs.strides[axis] + (size - 1) * attrs.dilation[axis] + 1
    cut = attrs.padding[axis] + attrs.padding[axis + len(attrs.strides)]
    if full + attrs.output_padding[axis] <= cut:
        raise TypeRelationError(
            f"expected padding below {full + attrs.output_padding[axis]}, got {cut}"
        )
    return full - cut + attrs.output_padding[axis]


def _relation(types: Sequence[Type], attrs: ConvTransposeAttrs) -> TensorType:
    data, weight = tensors(types)
    if not attrs.out_dtype:
        require_same_dtype((data, weight))
    require_number(data)
    spatial = SPATIAL[len(attrs.strides)]
    batch, in_channels, *image = relaid_shape(
        data.shape, attrs.data_layout, f"NC{spatial}"
    )
    weight_in, group_channels, *kernel = relaid_shape(
        weight.shape, attrs.kernel_layout, f"IO{spatial}"
    )
    if not agree(weight_in, in_channels):
        raise TypeRelationError(
            f"expected a weight of {in_channels} input channels, got {weight}"
        )
    if isinstance(in_channels, int) and in_channels % attrs.groups:
        raise TypeRelationError(
            f"expected input channels that {attrs.groups} groups divide, got "
            f"{in_channels}"
        )
    channels = product((group_channels, attrs.groups))
    channels = checked_channels(attrs, weight, channels, tuple(kernel))
    sizes = enumerate(zip(image, kernel, strict=True))
    lengths = (_length(length, size, axis, attrs) for axis, (length, size) in sizes)
    out_layout = attrs.out_layout or attrs.data_layout
    shape = relaid_shape((batch, channels, *lengths), f"NC{spatial}", out_layout)
    return TensorType(shape, attrs.out_dtype or data.dtype)


def _spread(attrs: ConvTransposeAttrs, data: Array, weight: Array) -> Array:
    rank, groups = len(attrs.strides), attrs.groups
    canonical = f"NC{SPATIAL[rank]}"
    dtype = attrs.out_dtype or data.dtype.name
    working = computed_in(dtype)
    data = relaid(data, attrs.data_layout, canonical)
    weight = relaid(weight, attrs.kernel_layout, f"IO{SPATIAL[rank]}")
    batch, channels, *image = data.shape
    _, group_channels, *kernel = weight.shape
    sizes = zip(image, kernel, attrs.strides, attrs.dilation, strict=True)
    full = [(n - 1) * s + (k - 1) * d + 1 for n, k, s, d in sizes]
    ends = [n + more for n, more in zip(full, attrs.output_padding, strict=True)]
    result = np.zeros((batch, groups * group_channels, *ends), working)
    rows = data.reshape(batch, groups, channels // groups, -1)
    for at in np.ndindex(*kernel):
        part = weight[(..., *at)].reshape(groups, channels // groups, group_channels)
        spread = matrix_product(part.transpose(0, 2, 1), rows, working)
        places = tuple(
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, n, s in zip(at, attrs.dilation, image, attrs.strides, strict=True)
        )
        result[(..., *places)] += spread.reshape(batch, -1, *image)
    cut = tuple(
        slice(attrs.padding[axis], end - attrs.padding[axis + rank])
        for axis, end in enumerate(ends)
    )
    result = result[(..., *cut)].astype(numpy_dtype(dtype), copy=False)
    return relaid(result, canonical, attrs.out_layout or attrs.data_layout)


def _conv_transpose(
    name: str, kind: type[ConvTransposeAttrs], doc: str
) -> ConvTransposeBuilder:
    """Register a transposed convolution and return the builder of its calls."""
    default = kind()
    rank = len(default.strides)
    op = register_op(
        Op(
            f"nn.{name}",
            2,
            _relation,
            _spread,
            kind,
            pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        )
    )

    def build(
        data: Expr,
        weight: Expr,
        strides: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        channels: int | None = None,
        kernel_size: Ints | None = None,
        groups: int = 1,
        data_layout: str = default.data_layout,
        kernel_layout: str = default.kernel_layout,
        out_layout: str = "",
        output_padding: Ints = 0,
        out_dtype: str = "",
    ) -> Call:
        attrs = kind(
            **checked_attrs(
                rank, strides, padding, dilation, groups, channels, kernel_size
            ),
            **checked_layouts(rank, data_layout, kernel_layout, out_layout),
            output_padding=ints_of_rank(
                output_padding, rank, "output_padding", at_least=0
            ),
            out_dtype=optional_dtype(out_dtype),
        )
        return call_op(op, (data, weight), attrs)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


conv1d_transpose = _conv_transpose(
    "conv1d_transpose", Conv1DTransposeAttrs, "Spread signals through a weight."
)
conv2d_transpose = _conv_transpose(
    "conv2d_transpose", Conv2DTransposeAttrs, "Spread images through a weight."
)
conv3d_transpose = _conv_transpose(
    "conv3d_transpose", Conv3DTransposeAttrs, "Spread volumes through a weight."
)
