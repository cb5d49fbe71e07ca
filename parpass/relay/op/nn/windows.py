"""Sliding windows of convolution and pooling over images of any rank.

Window counts and contents are defined here once, for tensors whose first two dimensions
are batch and channels; other layouts are transformed to this one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType
from parpass.relay.op.declaration.layout import (
    SPATIAL,
    transform_layout,
    transformed_shape,
)
from parpass.relay.op.declaration.type_relations import Shape

Ints = tuple[int, ...]

_SIDES = {"D": "depth", "H": "height", "W": "width"}


class Sliding(Protocol):
    """The attributes that define how a window slides, an int for each axis.

    Attributes:
        strides: The step from one window to the next.
        padding: The padding before each axis, then after each.
        dilation: The step from one element of a window to the next.
    """

    @property
    def strides(self) -> Ints: ...
    @property
    def padding(self) -> Ints: ...
    @property
    def dilation(self) -> Ints: ...


def window_counts(
    image: Ints, kernel: Ints, how: Sliding, *, ceil_mode: bool = False
) -> Ints:
    """Return the number of windows along each axis.

    Args:
        image: The lengths of the axes.
        kernel: Those of the window.
        how: The sliding.
        ceil_mode: Whether a last window may extend beyond the end.

    Raises:
        TypeRelationError: The window is larger than the padded image.
    """
    sizes = zip(image, kernel, strict=True)
    return tuple(
        _count(axis, *size, how, len(image), ceil_mode=ceil_mode)
        for axis, size in enumerate(sizes)
    )


def window_dims(
    image: tuple[Dim, ...],
    kernel: tuple[Dim, ...],
    how: Sliding,
    *,
    ceil_mode: bool = False,
) -> tuple[Dim, ...]:
    """Return `window_counts` of a type, where lengths may be unknown."""
    dims: list[Dim] = []
    for axis, (length, size) in enumerate(zip(image, kernel, strict=True)):
        if isinstance(length, UnknownDim) or isinstance(size, UnknownDim):
            dims.append(UnknownDim())
        else:
            dims.append(
                _count(axis, length, size, how, len(image), ceil_mode=ceil_mode)
            )
    return tuple(dims)


def _count(
    axis: int, length: int, size: int, how: Sliding, rank: int, *, ceil_mode: bool
) -> int:
    padded = length + how.padding[axis] + how.padding[axis + rank]
    extent = (size - 1) * how.dilation[axis] + 1
    if extent > padded:
        raise TypeRelationError(
            f"expected a window of at most {padded} (the {_SIDES[SPATIAL[rank][axis]]} "
            f"with padding), got {extent}"
        )
    slack = how.strides[axis] - 1 if ceil_mode else 0
    return (padded - extent + slack) // how.strides[axis] + 1


def windows(
    data: Array, kernel: Ints, how: Sliding, counts: Ints, *, fill: float
) -> Array:
    """Return a view of shape (*kernel, batch, channels, *counts).

    Args:
        data: The images.
        kernel: The lengths of the window.
        how: The sliding.
        counts: The number of windows, as of `window_counts`.
        fill: The value of elements outside of the image.
    """
    data = _padded(data, kernel, how, counts, fill)
    batch, channel, *steps = data.strides
    inside = (s * dilation for s, dilation in zip(steps, how.dilation, strict=True))
    between = (s * stride for s, stride in zip(steps, how.strides, strict=True))
    return np.lib.stride_tricks.as_strided(
        data,
        (*kernel, *data.shape[:2], *counts),
        (*inside, batch, channel, *between),
        writeable=False,
    )


def _padded(
    data: Array, kernel: Ints, how: Sliding, counts: Ints, fill: float
) -> Array:
    """Return the images with padding, and with further elements for last windows."""
    sides: list[tuple[int, int]] = [(0, 0), (0, 0)]
    for at, count in enumerate(counts):
        before, after = how.padding[at], how.padding[at + len(counts)]
        extent = (count - 1) * how.strides[at] + (kernel[at] - 1) * how.dilation[at] + 1
        sides.append((before, max(after, extent - before - data.shape[at + 2])))
    return np.pad(data, sides, constant_values=fill) if any(map(any, sides)) else data


class HasLayout(Protocol):
    """The attributes that define the layout of images.

    Attributes:
        layout: The layout of the data.
        out_layout: That of the result; empty for the data's.
    """

    @property
    def layout(self) -> str: ...
    @property
    def out_layout(self) -> str: ...


def pooled_type(
    how: HasLayout, data: TensorType, rank: int, pool: Callable[[Shape], Shape]
) -> TensorType:
    """Return the type of a pooling's result; `pool` gives the lengths of its image."""
    canonical = f"NC{SPATIAL[rank]}"
    batch, channels, *image = transformed_shape(data.shape, how.layout, canonical)
    shape = (batch, channels, *pool(tuple(image)))
    layout = how.out_layout or how.layout
    return TensorType(transformed_shape(shape, canonical, layout), data.dtype)


def pooled(
    how: HasLayout, data: Array, rank: int, pool: Callable[[Array], Array]
) -> Array:
    """Apply a pooling that is defined for batch and channels first to any layout."""
    canonical = f"NC{SPATIAL[rank]}"
    result = pool(transform_layout(data, how.layout, canonical))
    return transform_layout(result, canonical, how.out_layout or how.layout)
