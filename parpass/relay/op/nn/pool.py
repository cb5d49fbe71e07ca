"""Pooling of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.relay.expr import Call, Expr
from parpass.relay.op.attributes import Ints, int_pair, padding_2d, require_choice
from parpass.relay.op.build import call_op
from parpass.relay.op.nn.windows import Pair, window_counts, window_dims, windows
from parpass.relay.op.registry import Attrs, Op, OpPattern, register_op
from parpass.relay.op.relations import (
    require_float,
    require_number,
    require_rank,
    tensors,
)
from parpass.relay.ty import TensorType, Type

Array = npt.NDArray[Any]


class MaxPool2DAttrs(Attrs, frozen=True):
    """Attributes of `nn.max_pool2d`; padding is top, left, bottom, right.

    Attributes:
        ceil_mode: Whether a last window may stick out at the bottom and the right.
    """

    pool_size: Pair = (1, 1)
    strides: Pair = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    layout: str = "NCHW"
    out_layout: str = ""
    ceil_mode: bool = False


class AvgPool2DAttrs(MaxPool2DAttrs, frozen=True):
    """Attributes of `nn.avg_pool2d`.

    Attributes:
        count_include_pad: Whether to divide by the size of the window even where part
            of it is padding.
    """

    count_include_pad: bool = False


def _pool_relation(types: Sequence[Type], attrs: MaxPool2DAttrs) -> TensorType:
    (data,) = tensors(types)
    require_rank(data, 4, "the data")
    require_number(data)
    batch, channels, height, width = data.shape
    counts = window_dims(
        (height, width), attrs.pool_size, attrs, ceil_mode=attrs.ceil_mode
    )
    return TensorType((batch, channels, *counts), data.dtype)


def _pooled(
    meaning: np.ufunc, attrs: MaxPool2DAttrs, data: Array, fill: float
) -> Array:
    """Return each window's elements, joined by a function of two."""
    image = data.shape[2], data.shape[3]
    size = attrs.pool_size
    counts = window_counts(image, size, attrs, ceil_mode=attrs.ceil_mode)
    elements = windows(data, size, attrs, counts, fill=fill)
    # Whole images at a time: ten times as fast as numpy's reduction of two axes.
    return reduce(meaning, (elements[at] for at in np.ndindex(*size)))


def _avg_pool_relation(types: Sequence[Type], attrs: AvgPool2DAttrs) -> TensorType:
    result = _pool_relation(types, attrs)
    require_float(result)
    return result


def _max_pool2d(attrs: MaxPool2DAttrs, data: Array) -> Array:
    floats = data.dtype.kind == "f"
    lowest = -np.inf if floats else np.iinfo(data.dtype).min
    return _pooled(np.maximum, attrs, data, lowest)


def _avg_pool2d(attrs: AvgPool2DAttrs, data: Array) -> Array:
    total = _pooled(np.add, attrs, data, 0)
    if attrs.count_include_pad:
        return total / data.dtype.type(attrs.pool_size[0] * attrs.pool_size[1])
    inside = np.ones((1, 1, *data.shape[2:]), data.dtype)
    number = _pooled(np.add, attrs, inside, 0)
    return total / np.maximum(number, 1)


_MAX_POOL2D = register_op(
    Op(
        "nn.max_pool2d",
        1,
        _pool_relation,
        _max_pool2d,
        MaxPool2DAttrs,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    )
)
_AVG_POOL2D = register_op(
    Op(
        "nn.avg_pool2d",
        1,
        _avg_pool_relation,
        _avg_pool2d,
        AvgPool2DAttrs,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    )
)


def max_pool2d(
    data: Expr,
    pool_size: Ints = (1, 1),
    strides: Ints = (1, 1),
    dilation: Ints = (1, 1),
    padding: Ints = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """Return the largest element of each window; padding never wins."""
    attrs = MaxPool2DAttrs(
        pool_size=int_pair(pool_size, "pool_size"),
        strides=int_pair(strides, "strides"),
        padding=padding_2d(padding),
        dilation=int_pair(dilation, "dilation"),
        layout=require_choice(layout, ("NCHW",), "layout"),
        out_layout=require_choice(out_layout, ("", "NCHW"), "out_layout"),
        ceil_mode=ceil_mode,
    )
    return call_op(_MAX_POOL2D, (data,), attrs)


def avg_pool2d(
    data: Expr,
    pool_size: Ints = (1, 1),
    strides: Ints = (1, 1),
    dilation: Ints = (1, 1),
    padding: Ints = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """Return the mean of each window, by default of what lies inside the image."""
    attrs = AvgPool2DAttrs(
        pool_size=int_pair(pool_size, "pool_size"),
        strides=int_pair(strides, "strides"),
        padding=padding_2d(padding),
        dilation=int_pair(dilation, "dilation"),
        layout=require_choice(layout, ("NCHW",), "layout"),
        out_layout=require_choice(out_layout, ("", "NCHW"), "out_layout"),
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
    )
    return call_op(_AVG_POOL2D, (data,), attrs)


class GlobalPool2DAttrs(Attrs, frozen=True):
    """Attributes of `nn.global_max_pool2d` and `nn.global_avg_pool2d`."""

    layout: str = "NCHW"
    out_layout: str = ""


def _global_pool_relation(types: Sequence[Type], _attrs: Any) -> TensorType:
    (data,) = tensors(types)
    require_rank(data, 4, "the data")
    require_float(data)
    return TensorType((*data.shape[:2], 1, 1), data.dtype)


def _global_pool(
    name: str, meaning: Callable[..., Any], doc: str
) -> Callable[..., Call]:
    """Register a global pooling operator and return the builder of its calls."""

    def compute(_attrs: GlobalPool2DAttrs, data: Array) -> Array:
        return meaning(data, axis=(2, 3), keepdims=True)

    op = register_op(
        Op(
            f"nn.{name}",
            1,
            _global_pool_relation,
            compute,
            GlobalPool2DAttrs,
            pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        )
    )

    def build(data: Expr, layout: str = "NCHW", out_layout: str = "") -> Call:
        attrs = GlobalPool2DAttrs(
            layout=require_choice(layout, ("NCHW",), "layout"),
            out_layout=require_choice(out_layout, ("", "NCHW"), "out_layout"),
        )
        return call_op(op, (data,), attrs)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


global_max_pool2d = _global_pool(
    "global_max_pool2d", np.max, "Return the largest element of each channel."
)
global_avg_pool2d = _global_pool(
    "global_avg_pool2d", np.mean, "Return the mean of each channel."
)
