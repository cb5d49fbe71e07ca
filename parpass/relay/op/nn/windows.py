"""The windows that convolution and pooling slide over an image (NCHW).

How many windows there are and what each one holds is said here once.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from parpass.relay.op.registry import TypeRelationError
from parpass.relay.ty import Any as UnknownDim
from parpass.relay.ty import Dim

Array = npt.NDArray[Any]
Pair = tuple[int, int]

_SIDES = ("height", "width")


class Sliding(Protocol):
    """The attributes that say how a window slides.

    Attributes:
        strides: The step from one window to the next, down and across.
        padding: Rows and columns added at top, left, bottom and right.
        dilation: The step from one element of a window to the next.
    """

    @property
    def strides(self) -> Pair: ...  # noqa: D102 -- described above
    @property
    def padding(self) -> tuple[int, int, int, int]: ...  # noqa: D102 -- described above
    @property
    def dilation(self) -> Pair: ...  # noqa: D102 -- described above


def window_counts(
    image: Pair, kernel: Pair, how: Sliding, *, ceil_mode: bool = False
) -> Pair:
    """Return how many windows fit down and across.

    Args:
        image: Height and width.
        kernel: Height and width of the window.
        how: How it slides.
        ceil_mode: Whether a last window may stick out at the bottom and the right.

    Raises:
        TypeRelationError: The window is larger than the padded image.
    """
    down, across = (
        _count(axis, image[axis], kernel[axis], how, ceil_mode=ceil_mode)
        for axis in (0, 1)
    )
    return down, across


def window_dims(
    image: tuple[Dim, Dim],
    kernel: tuple[Dim, Dim],
    how: Sliding,
    *,
    ceil_mode: bool = False,
) -> tuple[Dim, Dim]:
    """Return `window_counts` of a type, where lengths may be unknown."""
    dims: list[Dim] = []
    for axis in (0, 1):
        length, size = image[axis], kernel[axis]
        if isinstance(length, UnknownDim) or isinstance(size, UnknownDim):
            dims.append(UnknownDim())
        else:
            dims.append(_count(axis, length, size, how, ceil_mode=ceil_mode))
    return dims[0], dims[1]


def _count(axis: int, length: int, size: int, how: Sliding, *, ceil_mode: bool) -> int:
    padded = length + how.padding[axis] + how.padding[axis + 2]
    extent = (size - 1) * how.dilation[axis] + 1
    if extent > padded:
        raise TypeRelationError(
            f"expected a window of at most {padded} (the {_SIDES[axis]} with "
            f"padding), got {extent}"
        )
    slack = how.strides[axis] - 1 if ceil_mode else 0
    return (padded - extent + slack) // how.strides[axis] + 1


def windows(
    data: Array, kernel: Pair, how: Sliding, counts: Pair, *, fill: float
) -> Array:
    """Return a view of shape (kernel height, kernel width, N, C, down, across).

    Args:
        data: The images.
        kernel: Height and width of the window.
        how: How it slides.
        counts: How many windows there are, as `window_counts` says.
        fill: The value of elements outside of the image.
    """
    data = _padded(data, kernel, how, counts, fill)
    batch, channel, down, across = data.strides
    return np.lib.stride_tricks.as_strided(
        data,
        (*kernel, *data.shape[:2], *counts),
        (
            down * how.dilation[0],
            across * how.dilation[1],
            batch,
            channel,
            down * how.strides[0],
            across * how.strides[1],
        ),
        writeable=False,
    )


def _padded(
    data: Array, kernel: Pair, how: Sliding, counts: Pair, fill: float
) -> Array:
    """Return the images with padding, and with what the last windows need beyond it."""
    sides = [(0, 0), (0, 0)]
    for at, count in enumerate(counts):
        before, after = how.padding[at], how.padding[at + 2]
        extent = (count - 1) * how.strides[at] + (kernel[at] - 1) * how.dilation[at] + 1
        sides.append((before, max(after, extent - before - data.shape[at + 2])))
    return np.pad(data, sides, constant_values=fill) if any(map(any, sides)) else data
