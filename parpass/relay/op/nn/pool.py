"""Pooling of signals, images and volumes, in any layout.

Adaptive pooling gives a result of requested lengths, which determine the windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, Protocol

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationFn
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import (
    NCDHW,
    NCHW,
    NCW,
    Ints,
    MaybeNCDHW,
    MaybeNCHW,
    MaybeNCW,
    One,
    Pair,
    Sides1D,
    Sides2D,
    Sides3D,
    Triple,
)
from parpass.relay.op.declaration.build import OUT_ELEMWISE_FUSABLE, BuilderT, operator
from parpass.relay.op.declaration.type_relations import (
    require_float,
    require_number,
    tensors,
)
from parpass.relay.op.nn.windows import (
    pooled,
    pooled_type,
    window_counts,
    window_dims,
    windows,
)
from parpass.runtime import ieee754

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "global_avg_pool1d",
    "global_avg_pool2d",
    "global_avg_pool3d",
    "global_max_pool1d",
    "global_max_pool2d",
    "global_max_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]


class PoolAttrs(Attrs, frozen=True):
    """Common attributes of poolings.

    Attributes:
        pool_size: The lengths of the window.
        strides: The step from one window to the next.
        padding: The padding before each axis, then after each.
        dilation: The step from one element of a window to the next.
        out_layout: Empty for the data's layout.
        ceil_mode: Whether a last window may extend beyond the end.
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

    pool_size: One = (1,)
    strides: One = (1,)
    padding: Sides1D = (0, 0)
    dilation: One = (1,)
    layout: NCW = "NCW"
    out_layout: MaybeNCW = ""


class MaxPool2DAttrs(PoolAttrs, frozen=True):
    """Attributes of `nn.max_pool2d`; padding is top, left, bottom, right."""

    pool_size: Pair = (1, 1)
    strides: Pair = (1, 1)
    padding: Sides2D = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    layout: NCHW = "NCHW"
    out_layout: MaybeNCHW = ""


class MaxPool3DAttrs(PoolAttrs, frozen=True):
    """Attributes of `nn.max_pool3d`."""

    pool_size: Triple = (1, 1, 1)
    strides: Triple = (1, 1, 1)
    padding: Sides3D = (0, 0, 0, 0, 0, 0)
    dilation: Triple = (1, 1, 1)
    layout: NCDHW = "NCDHW"
    out_layout: MaybeNCDHW = ""


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


def _pool(
    data: Expr,
    pool_size: Ints = 1,
    strides: Ints = 1,
    dilation: Ints = 1,
    padding: Ints = 0,
    layout: str = ...,
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """Build a call of a pooling; see `nn.conv2d` for the padding."""
    ...


def _counting_pool(
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
    """Build a call of a pooling that may count the padding."""
    ...


def _relation(types: Sequence[Type], attrs: PoolAttrs) -> TensorType:
    (data,) = tensors(types)
    require_number(data)
    size, ceil_mode = attrs.pool_size, attrs.ceil_mode
    counts = partial(window_dims, kernel=size, how=attrs, ceil_mode=ceil_mode)
    return pooled_type(attrs, data, len(attrs.strides), counts)


def _avg_relation(types: Sequence[Type], attrs: PoolAttrs) -> TensorType:
    result = _relation(types, attrs)
    require_float(result)
    return result


def _joined(
    meaning: Callable[[Array, Array], Array], attrs: PoolAttrs, fill: float, data: Array
) -> Array:
    """Return each window's elements, combined by a binary function."""
    size = attrs.pool_size
    counts = window_counts(data.shape[2:], size, attrs, ceil_mode=attrs.ceil_mode)
    elements = windows(data, size, attrs, counts, fill=fill)
    # Whole images at a time: ten times as fast as numpy's reduction of two axes.
    return reduce(meaning, (elements[at] for at in np.ndindex(*size)))


def _max_pool(attrs: PoolAttrs, data: Array) -> Array:
    lowest = -np.inf if data.dtype.kind == "f" else np.iinfo(data.dtype).min
    largest = partial(_joined, ieee754.maximum, attrs, lowest)
    return pooled(attrs, data, len(attrs.strides), largest)


def _avg_pool(attrs: Any, data: Array) -> Array:
    total = partial(_joined, np.add, attrs, 0)

    def mean(data: Array) -> Array:
        if attrs.count_include_pad:
            return total(data) / data.dtype.type(np.prod(attrs.pool_size))
        inside = np.ones((1, 1, *data.shape[2:]), data.dtype)
        return total(data) / np.maximum(total(inside), 1)

    return pooled(attrs, data, len(attrs.strides), mean)


_MAX = "Return the largest element of each window; padding never wins."
_AVG = "Return the mean of each window, by default of what lies inside the data."


def _max(name: str, kind: type[PoolAttrs]) -> Callable[[BuilderT], BuilderT]:
    return operator(
        f"nn.{name}", _relation, _max_pool, kind, doc=_MAX, pattern=OUT_ELEMWISE_FUSABLE
    )


def _avg(name: str, kind: type[PoolAttrs]) -> Callable[[BuilderT], BuilderT]:
    return operator(
        f"nn.{name}",
        _avg_relation,
        _avg_pool,
        kind,
        doc=_AVG,
        pattern=OUT_ELEMWISE_FUSABLE,
    )


max_pool1d = _max("max_pool1d", MaxPool1DAttrs)(_pool)
max_pool2d = _max("max_pool2d", MaxPool2DAttrs)(_pool)
max_pool3d = _max("max_pool3d", MaxPool3DAttrs)(_pool)
avg_pool1d = _avg("avg_pool1d", AvgPool1DAttrs)(_counting_pool)
avg_pool2d = _avg("avg_pool2d", AvgPool2DAttrs)(_counting_pool)
avg_pool3d = _avg("avg_pool3d", AvgPool3DAttrs)(_counting_pool)


Meaning = Callable[..., Any]


class GlobalPool2DAttrs(Attrs, frozen=True):
    """Attributes of `nn.global_max_pool2d` and `nn.global_avg_pool2d`."""

    layout: NCHW = "NCHW"
    out_layout: MaybeNCHW = ""


class AdaptivePoolAttrs(Attrs, frozen=True):
    """Common attributes of adaptive poolings.

    Attributes:
        output_size: The lengths of the result; None for the data's.
    """

    output_size: tuple[int, ...] | None = None
    layout: str = ""
    out_layout: str = ""


class AdaptivePool1DAttrs(AdaptivePoolAttrs, frozen=True):
    """Attributes of adaptive poolings of signals."""

    output_size: One | None = None
    layout: NCW = "NCW"
    out_layout: MaybeNCW = ""


class AdaptivePool2DAttrs(AdaptivePoolAttrs, frozen=True):
    """Attributes of adaptive poolings of images."""

    output_size: Pair | None = None
    layout: NCHW = "NCHW"
    out_layout: MaybeNCHW = ""


class AdaptivePool3DAttrs(AdaptivePoolAttrs, frozen=True):
    """Attributes of adaptive poolings of volumes."""

    output_size: Triple | None = None
    layout: NCDHW = "NCDHW"
    out_layout: MaybeNCDHW = ""


_ADAPTIVE = {1: AdaptivePool1DAttrs, 2: AdaptivePool2DAttrs, 3: AdaptivePool3DAttrs}


class GlobalPoolBuilder(Protocol):
    """Builds a call of a pooling whose result has length 1 along each axis."""

    def __call__(self, data: Expr, layout: str = ..., out_layout: str = "") -> Call:
        """Return the call."""
        ...


class AdaptivePoolBuilder(Protocol):
    """Builds a call of an adaptive pooling."""

    def __call__(
        self,
        data: Expr,
        output_size: Ints | None = None,
        layout: str = ...,
        out_layout: str = "",
    ) -> Call:
        """Return the call."""
        ...


def _adaptive_relation(rank: int) -> TypeRelationFn:
    def relation(types: Sequence[Type], attrs: Any) -> TensorType:
        (data,) = tensors(types)
        require_float(data)
        size = attrs.get("output_size", (1,) * rank)
        return pooled_type(attrs, data, rank, lambda image: size or image)

    return relation


def _compute(rank: int, meaning: Meaning) -> Callable[[Any, Array], Array]:
    def compute(attrs: Any, data: Array) -> Array:
        size = attrs.get("output_size", (1,) * rank)

        def pool(data: Array) -> Array:
            # A window is a box, so that one axis can be pooled after the other.
            for axis, count in enumerate(size or data.shape[2:], 2):
                data = _pooled_axis(meaning, data, axis, count)
            return data

        return pooled(attrs, data, rank, pool)

    return compute


def _pooled_axis(meaning: Meaning, data: Array, axis: int, count: int) -> Array:
    length = data.shape[axis]
    parts = [
        meaning(
            data.take(
                range(at * length // count, -(-(at + 1) * length // count)), axis
            ),
            axis=axis,
            keepdims=True,
        )
        for at in range(count)
    ]
    return np.concatenate(parts, axis)


def _global(name: str, meaning: Meaning, doc: str) -> GlobalPoolBuilder:
    """Register a global pooling of images and return the builder of its calls."""
    compute = _compute(2, meaning)

    @operator(
        f"nn.{name}",
        _adaptive_relation(2),
        compute,
        GlobalPool2DAttrs,
        doc=doc,
        pattern=OUT_ELEMWISE_FUSABLE,
    )
    def build(data: Expr, layout: str = "NCHW", out_layout: str = "") -> Call: ...

    return build


def _adaptive(name: str, rank: int, meaning: Meaning, doc: str) -> AdaptivePoolBuilder:
    """Register an adaptive pooling and return the builder of its calls."""

    @operator(
        f"nn.{name}",
        _adaptive_relation(rank),
        _compute(rank, meaning),
        _ADAPTIVE[rank],
        doc=doc,
        pattern=OUT_ELEMWISE_FUSABLE,
    )
    def build(
        data: Expr,
        output_size: Ints | None = None,
        layout: str = ...,
        out_layout: str = "",
    ) -> Call: ...

    return build


def _whole(name: str, adaptive: AdaptivePoolBuilder, axes: str) -> GlobalPoolBuilder:
    """Return the builder of an adaptive pooling to length 1."""

    def build(data: Expr, layout: str = axes, out_layout: str = "") -> Call:
        return adaptive(data, 1, layout, out_layout)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = "Pool each channel as a whole."
    return build


_ADAPTIVE_MAX = (
    "Return the largest element of each window; there are `output_size` of them."
)
_ADAPTIVE_AVG = "Return the mean of each window; there are `output_size` of them."

adaptive_max_pool1d = _adaptive(
    "adaptive_max_pool1d", 1, ieee754.max_along, _ADAPTIVE_MAX
)
adaptive_max_pool2d = _adaptive(
    "adaptive_max_pool2d", 2, ieee754.max_along, _ADAPTIVE_MAX
)
adaptive_max_pool3d = _adaptive(
    "adaptive_max_pool3d", 3, ieee754.max_along, _ADAPTIVE_MAX
)
adaptive_avg_pool1d = _adaptive("adaptive_avg_pool1d", 1, np.mean, _ADAPTIVE_AVG)
adaptive_avg_pool2d = _adaptive("adaptive_avg_pool2d", 2, np.mean, _ADAPTIVE_AVG)
adaptive_avg_pool3d = _adaptive("adaptive_avg_pool3d", 3, np.mean, _ADAPTIVE_AVG)

global_max_pool1d = _whole("global_max_pool1d", adaptive_max_pool1d, "NCW")
global_avg_pool1d = _whole("global_avg_pool1d", adaptive_avg_pool1d, "NCW")
global_max_pool3d = _whole("global_max_pool3d", adaptive_max_pool3d, "NCDHW")
global_avg_pool3d = _whole("global_avg_pool3d", adaptive_avg_pool3d, "NCDHW")
global_max_pool2d = _global(
    "global_max_pool2d",
    ieee754.max_along,
    "Return the largest element of each channel.",
)
global_avg_pool2d = _global(
    "global_avg_pool2d", np.mean, "Return the mean of each channel."
)
