"""Convolution of signals, images and volumes, in any layout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, TypeRelationError, register_op
from parpass.ir.ty import Any as UnknownDim
from parpass.ir.ty import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.attributes import (
    Ints,
    ints_of_rank,
    one_int,
    optional_dtype,
    padding_of_rank,
)
from parpass.relay.op.build import call_op
from parpass.relay.op.layout import SPATIAL, layout_of, relaid, relaid_shape
from parpass.relay.op.nn.products import matrix_product
from parpass.relay.op.nn.windows import (
    Pair,
    window_counts,
    window_dims,
    windows,
)
from parpass.relay.op.relations import (
    Shape,
    agree,
    require_number,
    require_same_dtype,
    tensors,
    unify,
)

Array = npt.NDArray[Any]


class ConvAttrs(Attrs, frozen=True):
    """What the attributes of all convolutions have in common.

    Attributes:
        strides: The step from one window to the next, for each axis.
        padding: What is added before each axis, then behind each: for images at top,
            left, bottom and right.
        dilation: The step from one element of a window to the next.
        groups: Into how many groups the channels are split; each sees only itself.
        channels: How many channels the result has; None for what the weight says.
        kernel_size: The lengths of the weight; None for what it says.
        out_layout: Empty for the data's layout.
        out_dtype: Empty for the data's dtype.
    """

    strides: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    groups: int = 1
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    data_layout: str = ""
    kernel_layout: str = ""
    out_layout: str = ""
    out_dtype: str = ""


class Conv1DAttrs(ConvAttrs, frozen=True):
    """Attributes of `nn.conv1d`."""

    strides: tuple[int] = (1,)
    padding: Pair = (0, 0)
    dilation: tuple[int] = (1,)
    kernel_size: tuple[int] | None = None
    data_layout: str = "NCW"
    kernel_layout: str = "OIW"


class Conv2DAttrs(ConvAttrs, frozen=True):
    """Attributes of `nn.conv2d` and of its forms for blocked layouts."""

    strides: Pair = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    kernel_size: Pair | None = None
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"


class Conv3DAttrs(ConvAttrs, frozen=True):
    """Attributes of `nn.conv3d`."""

    strides: tuple[int, int, int] = (1, 1, 1)
    padding: tuple[int, int, int, int, int, int] = (0, 0, 0, 0, 0, 0)
    dilation: tuple[int, int, int] = (1, 1, 1)
    kernel_size: tuple[int, int, int] | None = None
    data_layout: str = "NCDHW"
    kernel_layout: str = "OIDHW"


class ConvBuilder(Protocol):
    """Builds a call of a convolution."""

    def __call__(
        self,
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
        """Return the call.

        Padding is one int for all sides, one for each axis, or one for each side: all
        those before the axes, then all those behind them.

        Raises:
            IRTypeError: An attribute is out of its range, or no such layout exists.
        """
        ...


def conv_relation(types: Sequence[Type], attrs: ConvAttrs) -> TensorType:
    """Relate data and weight to the result of a convolution."""
    data, weight = tensors(types)
    if not attrs.out_dtype:
        require_same_dtype((data, weight))
    require_number(data)
    require_number(weight)
    spatial = SPATIAL[len(attrs.strides)]
    batch, in_channels, *image = relaid_shape(
        data.shape, attrs.data_layout, f"NC{spatial}"
    )
    out_channels, group_channels, *kernel = relaid_shape(
        weight.shape, attrs.kernel_layout, f"OI{spatial}"
    )
    out_channels = checked_channels(attrs, weight, out_channels, tuple(kernel))
    _check_groups(in_channels, out_channels, group_channels, attrs.groups)
    counts = window_dims(tuple(image), tuple(kernel), attrs)
    shape: Shape = (batch, out_channels, *counts)
    out_layout = attrs.out_layout or attrs.data_layout
    return TensorType(
        relaid_shape(shape, f"NC{spatial}", out_layout), attrs.out_dtype or data.dtype
    )


def checked_channels(
    attrs: ConvAttrs, weight: TensorType, out_channels: Dim, kernel: Shape
) -> Dim:
    """Return the output channels, checked against the attributes.

    Raises:
        TypeRelationError: The weight is not of the size that the attributes say.
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
    data = relaid(data, attrs.data_layout, f"NC{spatial}")
    weight = relaid(weight, attrs.kernel_layout, f"OI{spatial}")
    batch, _, *image = data.shape
    out_channels, _, *kernel = weight.shape
    counts = window_counts(tuple(image), tuple(kernel), attrs)
    view = windows(data, tuple(kernel), attrs, counts, fill=0)
    rows = weight.reshape(attrs.groups, out_channels // attrs.groups, -1)
    dtype = attrs.out_dtype or data.dtype.name
    # As many windows at a time as fit into a limit: written out they take the memory of
    # the image times the size of the kernel.
    step = max(1, _WINDOWS_AT_ONCE * max(counts[0], 1) // max(view.nbytes, 1))
    at, parts = len(kernel) + 2, list[Array]()
    for start in range(0, max(counts[0], 1), step):
        some = view[(slice(None),) * at + (slice(start, start + step),)]
        columns = _columns(some, len(kernel), attrs.groups, rows.shape[-1])
        places = some.shape[at:]
        product = matrix_product(rows, columns, dtype)
        parts.append(product.reshape(batch, out_channels, *places))
    result = np.concatenate(parts, 2) if len(parts) > 1 else parts[0]
    return relaid(result, f"NC{spatial}", attrs.out_layout or attrs.data_layout)


_WINDOWS_AT_ONCE = 2**26  # bytes


def _columns(view: Array, rank: int, groups: int, size: int) -> Array:
    """Return windows as matrices: (elements of a window) x (places), by image, group.

    So there is one product for each image and group: (channels out) x (elements of the
    window) times these.
    """
    order = (rank, rank + 1, *range(rank), *range(rank + 2, view.ndim))
    places = math.prod(view.shape[rank + 2 :])
    return view.transpose(order).reshape(view.shape[rank], groups, size, places)


def _conv(name: str, kind: type[ConvAttrs], doc: str) -> ConvBuilder:
    """Register a convolution and return the builder of its calls."""
    default = kind()
    rank = len(default.strides)
    op = register_op(
        Op(
            f"nn.{name}",
            2,
            conv_relation,
            _convolve,
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
        groups: int = 1,
        channels: int | None = None,
        kernel_size: Ints | None = None,
        data_layout: str = default.data_layout,
        kernel_layout: str = default.kernel_layout,
        out_layout: str = "",
        out_dtype: str = "",
    ) -> Call:
        attrs = kind(
            **checked_attrs(
                rank, strides, padding, dilation, groups, channels, kernel_size
            ),
            **checked_layouts(rank, data_layout, kernel_layout, out_layout),
            out_dtype=optional_dtype(out_dtype),
        )
        return call_op(op, (data, weight), attrs)

    build.__name__ = build.__qualname__ = name.lower()
    build.__doc__ = doc
    return build


def checked_attrs(
    rank: int,
    strides: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    channels: int | None,
    kernel_size: Ints | None,
) -> dict[str, Any]:
    """Return what says how a window of this rank moves, checked, as attributes."""
    return {
        "strides": ints_of_rank(strides, rank, "strides"),
        "padding": padding_of_rank(padding, rank),
        "dilation": ints_of_rank(dilation, rank, "dilation"),
        "groups": one_int(groups, "groups"),
        "channels": None if channels is None else one_int(channels, "channels"),
        "kernel_size": (
            None
            if kernel_size is None
            else ints_of_rank(kernel_size, rank, "kernel_size")
        ),
    }


def checked_layouts(rank: int, data: str, kernel: str, out: str) -> dict[str, Any]:
    """Return the layouts of a convolution of this rank, checked, as attributes."""
    spatial = SPATIAL[rank]
    return {
        "data_layout": layout_of(data, f"NC{spatial}", "data_layout"),
        "kernel_layout": layout_of(kernel, f"OI{spatial}", "kernel_layout"),
        "out_layout": out and layout_of(out, f"NC{spatial}", "out_layout"),
    }


conv1d = _conv("conv1d", Conv1DAttrs, "Convolve signals with a weight.")
conv2d = _conv("conv2d", Conv2DAttrs, "Convolve images with a weight.")
conv3d = _conv("conv3d", Conv3DAttrs, "Convolve volumes with a weight.")
contrib_conv2d_nchwc = _conv(
    "contrib_conv2d_NCHWc",
    Conv2DAttrs,
    "Convolve images in a blocked layout, such as NCHW8c with OIHW8i8o.",
)
contrib_depthwise_conv2d_nchwc = _conv(
    "contrib_depthwise_conv2d_NCHWc",
    Conv2DAttrs,
    "Convolve each channel by itself in a blocked layout, such as OIHW1i8o.",
)
