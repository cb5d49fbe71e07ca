"""Pooling of signals, images and volumes, in any layout."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, register_op
from parpass.ir.ty import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.attributes import Ints, ints_of_rank, padding_of_rank
from parpass.relay.op.build import call_op
from parpass.relay.op.layout import SPATIAL, layout_of, relaid, relaid_shape
from parpass.relay.op.nn.windows import (
    Pair,
    window_counts,
    window_dims,
    windows,
)
from parpass.relay.op.relations import require_float, require_number, tensors

Array = npt.NDArray[Any]


class PoolAttrs(Attrs, frozen=True):
    """What the attributes of all poolings have in common.

    Attributes:
        pool_size: The lengths of the window.
        strides: The step from one window to the next.
        padding: What is added before each axis, then behind each.
        dilation: The step from one element of a window to the next.
        out_layout: Empty for the data's layout.
        ceil_mode: Whether a last window may stick out at the end.
    """

    pool_size: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    layout: str = ""
    out_layout: str = ""
    ceil_mode: bool = False


class MaxPool1DAttrs(PoolAttrs, frozen=True):
    """Attributes of `nn.max_pool1d`."""

    pool_size: tuple[int] = (1,)
    strides: tuple[int] = (1,)
    padding: Pair = (0, 0)
    dilation: tuple[int] = (1,)
    layout: str = "NCW"


class MaxPool2DAttrs(PoolAttrs, frozen=True):
    """Attributes of `nn.max_pool2d`; padding is top, left, bottom, right."""

    pool_size: Pair = (1, 1)
    strides: Pair = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    layout: str = "NCHW"


class MaxPool3DAttrs(PoolAttrs, frozen=True):
    """Attributes of `nn.max_pool3d`."""

    pool_size: tuple[int, int, int] = (1, 1, 1)
    strides: tuple[int, int, int] = (1, 1, 1)
    padding: tuple[int, int, int, int, int, int] = (0, 0, 0, 0, 0, 0)
    dilation: tuple[int, int, int] = (1, 1, 1)
    layout: str = "NCDHW"


class AvgPool1DAttrs(MaxPool1DAttrs, frozen=True):
    """Attributes of `nn.avg_pool1d`; see `AvgPool2DAttrs`."""

    count_include_pad: bool = False


class AvgPool2DAttrs(MaxPool2DAttrs, frozen=True):
    """Attributes of `nn.avg_pool2d`.

    Attributes:
        count_include_pad: Whether to divide by the size of the window even where part
            of it is padding.
    """

    count_include_pad: bool = False


class AvgPool3DAttrs(MaxPool3DAttrs, frozen=True):
    """Attributes of `nn.avg_pool3d`; see `AvgPool2DAttrs`."""

    count_include_pad: bool = False


class MaxPoolBuilder(Protocol):
    """Builds a call of a maximum pooling."""

    def __call__(
        self,
        data: Expr,
        pool_size: Ints = 1,
        strides: Ints = 1,
        dilation: Ints = 1,
        padding: Ints = 0,
        layout: str = ...,
        out_layout: str = "",
        ceil_mode: bool = False,
    ) -> Call:
        """Return the call."""
        ...


class AvgPoolBuilder(Protocol):
    """Builds a call of an average pooling."""

    def __call__(
        self,
        data: Expr,
        pool_size: Ints = 1,
        strides: Ints = 1,
        dilation: Ints = 1,
        padding: Ints = 0,
        layout: str = ...,
        out_layout: str = "",
        ceil_mode: bool = False,
        count_include_pad: bool = False,
    ) -> Call:
        """Return the call."""
        ...


def _relation(types: Sequence[Type], attrs: PoolAttrs) -> TensorType:
    (data,) = tensors(types)
    require_number(data)
    canonical = f"NC{SPATIAL[len(attrs.strides)]}"
    batch, channels, *image = relaid_shape(data.shape, attrs.layout, canonical)
    size = attrs.pool_size
    counts = window_dims(tuple(image), size, attrs, ceil_mode=attrs.ceil_mode)
    layout = attrs.out_layout or attrs.layout
    shape = relaid_shape((batch, channels, *counts), canonical, layout)
    return TensorType(shape, data.dtype)


def _avg_relation(types: Sequence[Type], attrs: PoolAttrs) -> TensorType:
    result = _relation(types, attrs)
    require_float(result)
    return result


def _pooled(meaning: np.ufunc, attrs: PoolAttrs, data: Array, fill: float) -> Array:
    """Return each window's elements, joined by a function of two."""
    size = attrs.pool_size
    counts = window_counts(data.shape[2:], size, attrs, ceil_mode=attrs.ceil_mode)
    elements = windows(data, size, attrs, counts, fill=fill)
    # Whole images at a time: ten times as fast as numpy's reduction of two axes.
    return reduce(meaning, (elements[at] for at in np.ndindex(*size)))


def _max_pool(attrs: PoolAttrs, data: Array) -> Array:
    canonical = f"NC{SPATIAL[len(attrs.strides)]}"
    floats = data.dtype.kind == "f"
    lowest = -np.inf if floats else np.iinfo(data.dtype).min
    data = relaid(data, attrs.layout, canonical)
    result = _pooled(np.maximum, attrs, data, lowest)
    return relaid(result, canonical, attrs.out_layout or attrs.layout)


def _avg_pool(attrs: Any, data: Array) -> Array:
    canonical = f"NC{SPATIAL[len(attrs.strides)]}"
    data = relaid(data, attrs.layout, canonical)
    total = _pooled(np.add, attrs, data, 0)
    if attrs.count_include_pad:
        result = total / data.dtype.type(np.prod(attrs.pool_size))
    else:
        inside = np.ones((1, 1, *data.shape[2:]), data.dtype)
        result = total / np.maximum(_pooled(np.add, attrs, inside, 0), 1)
    return relaid(result, canonical, attrs.out_layout or attrs.layout)


def _avg_pool_op(name: str, kind: type[Any], doc: str) -> AvgPoolBuilder:
    """Register an average pooling and return the builder of its calls."""
    default = kind()
    rank = len(default.strides)
    heavy = OpPattern.OUT_ELEMWISE_FUSABLE
    op = register_op(Op(f"nn.{name}", 1, _avg_relation, _avg_pool, kind, pattern=heavy))

    def build(
        data: Expr,
        pool_size: Ints = 1,
        strides: Ints = 1,
        dilation: Ints = 1,
        padding: Ints = 0,
        layout: str = default.layout,
        out_layout: str = "",
        ceil_mode: bool = False,
        count_include_pad: bool = False,
    ) -> Call:
        window = _window(rank, pool_size, strides, dilation, padding)
        attrs = kind(
            **window,
            **_layouts(rank, layout, out_layout),
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )
        return call_op(op, (data,), attrs)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


def _max_pool_op(name: str, kind: type[Any], doc: str) -> MaxPoolBuilder:
    """Register a maximum pooling and return the builder of its calls."""
    default = kind()
    rank = len(default.strides)
    heavy = OpPattern.OUT_ELEMWISE_FUSABLE
    op = register_op(Op(f"nn.{name}", 1, _relation, _max_pool, kind, pattern=heavy))

    def build(
        data: Expr,
        pool_size: Ints = 1,
        strides: Ints = 1,
        dilation: Ints = 1,
        padding: Ints = 0,
        layout: str = default.layout,
        out_layout: str = "",
        ceil_mode: bool = False,
    ) -> Call:
        window = _window(rank, pool_size, strides, dilation, padding)
        layouts = _layouts(rank, layout, out_layout)
        return call_op(op, (data,), kind(**window, **layouts, ceil_mode=ceil_mode))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


def _window(
    rank: int, pool_size: Ints, strides: Ints, dilation: Ints, padding: Ints
) -> dict[str, tuple[int, ...]]:
    return {
        "pool_size": ints_of_rank(pool_size, rank, "pool_size"),
        "strides": ints_of_rank(strides, rank, "strides"),
        "dilation": ints_of_rank(dilation, rank, "dilation"),
        "padding": padding_of_rank(padding, rank),
    }


def _layouts(rank: int, layout: str, out_layout: str) -> dict[str, str]:
    axes = f"NC{SPATIAL[rank]}"
    return {
        "layout": layout_of(layout, axes, "layout"),
        "out_layout": out_layout and layout_of(out_layout, axes, "out_layout"),
    }


_MAX = "Return the largest element of each window; padding never wins."
_AVG = "Return the mean of each window, by default of what lies inside the data."

max_pool1d = _max_pool_op("max_pool1d", MaxPool1DAttrs, _MAX)
max_pool2d = _max_pool_op("max_pool2d", MaxPool2DAttrs, _MAX)
max_pool3d = _max_pool_op("max_pool3d", MaxPool3DAttrs, _MAX)
avg_pool1d = _avg_pool_op("avg_pool1d", AvgPool1DAttrs, _AVG)
avg_pool2d = _avg_pool_op("avg_pool2d", AvgPool2DAttrs, _AVG)
avg_pool3d = _avg_pool_op("avg_pool3d", AvgPool3DAttrs, _AVG)
