"""Convolution of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.relay.expr import Call, Expr
from parpass.relay.op.attributes import (
    Ints,
    dtype_name,
    int_pair,
    padding_2d,
    require_choice,
)
from parpass.relay.op.build import call_op
from parpass.relay.op.nn.windows import Pair, window_counts, window_dims, windows
from parpass.relay.op.registry import (
    Attrs,
    Op,
    OpPattern,
    TypeRelationError,
    register_op,
)
from parpass.relay.op.relations import (
    agree,
    require_number,
    require_rank,
    require_same_dtype,
    tensors,
)
from parpass.relay.ty import Any as UnknownDim
from parpass.relay.ty import Dim, TensorType, Type

Array = npt.NDArray[Any]


class Conv2DAttrs(Attrs, frozen=True):
    """Attributes of `nn.conv2d`; padding is top, left, bottom, right.

    Attributes:
        channels: How many channels the result has; None for what the weight says.
        kernel_size: Height and width of the weight; None for what it says.
        out_layout: Empty for the data's layout.
        out_dtype: Empty for the data's dtype.
    """

    strides: Pair = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1
    channels: int | None = None
    kernel_size: Pair | None = None
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    out_layout: str = ""
    out_dtype: str = ""


def _conv2d_relation(types: Sequence[Type], attrs: Conv2DAttrs) -> TensorType:
    data, weight = tensors(types)
    require_rank(data, 4, "the data")
    require_rank(weight, 4, "the weight")
    require_same_dtype((data, weight))
    require_number(data)
    batch, in_channels, height, width = data.shape
    out_channels, group_channels, *kernel = weight.shape
    _check_groups(in_channels, out_channels, group_channels, attrs.groups)
    if attrs.channels is not None and not agree(attrs.channels, out_channels):
        raise TypeRelationError(f"expected {attrs.channels} channels, got {weight}")
    if attrs.kernel_size is not None and not all(map(agree, attrs.kernel_size, kernel)):
        raise TypeRelationError(
            f"expected a kernel of {attrs.kernel_size}, got {weight}"
        )
    counts = window_dims((height, width), (kernel[0], kernel[1]), attrs)
    return TensorType((batch, out_channels, *counts), attrs.out_dtype or data.dtype)


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


def _conv2d(attrs: Conv2DAttrs, data: Array, weight: Array) -> Array:
    if attrs.out_dtype:
        data = data.astype(attrs.out_dtype, copy=False)
        weight = weight.astype(attrs.out_dtype, copy=False)
    batch, _, height, width = data.shape
    out_channels, group_channels, *size = weight.shape
    kernel = size[0], size[1]
    counts = window_counts((height, width), kernel, attrs)
    view = windows(data, kernel, attrs, counts, fill=0)
    # One matrix product for each image and group: (channels out) x (elements of the
    # window) times (elements of the window) x (places).
    columns = view.transpose(2, 3, 0, 1, 4, 5).reshape(
        batch, attrs.groups, group_channels * kernel[0] * kernel[1], -1
    )
    rows = weight.reshape(attrs.groups, out_channels // attrs.groups, -1)
    # A uniform weight has zero strides, with which matmul does not go to BLAS.
    product = np.ascontiguousarray(rows) @ columns
    return product.reshape(batch, out_channels, *counts)


_CONV2D = register_op(
    Op(
        "nn.conv2d",
        2,
        _conv2d_relation,
        _conv2d,
        Conv2DAttrs,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    )
)


def conv2d(
    data: Expr,
    weight: Expr,
    strides: Ints = (1, 1),
    padding: Ints = (0, 0),
    dilation: Ints = (1, 1),
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Ints | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "",
) -> Call:
    """Convolve images with a weight.

    Padding is one int for all sides, two for height and width, or four for top, left,
    bottom and right. With `groups`, each group of output channels sees only its group
    of input channels.

    Raises:
        IRTypeError: An attribute is out of its range, or a layout is not NCHW (OIHW
            for the weight).
    """
    attrs = Conv2DAttrs(
        strides=int_pair(strides, "strides"),
        padding=padding_2d(padding),
        dilation=int_pair(dilation, "dilation"),
        groups=int_pair(groups, "groups")[0],
        channels=None if channels is None else int_pair(channels, "channels")[0],
        kernel_size=(
            None if kernel_size is None else int_pair(kernel_size, "kernel_size")
        ),
        data_layout=require_choice(data_layout, ("NCHW",), "data_layout"),
        kernel_layout=require_choice(kernel_layout, ("OIHW",), "kernel_layout"),
        out_layout=require_choice(out_layout, ("", "NCHW"), "out_layout"),
        out_dtype=dtype_name(out_dtype) if out_dtype else "",
    )
    return call_op(_CONV2D, (data, weight), attrs)
