"""Where the elements of a sliding window are, and whether they are inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from parpass.relay.op.nn.windows import Sliding
from parpass.tir import op
from parpass.tir.prim_expr import PrimExpr

Indices = Sequence[PrimExpr]


class PlaceInWindow(NamedTuple):
    """An element of a window.

    Attributes:
        places: Where it is along each axis of the image.
        conditions: What has to hold for it to be inside; none where it always is.
    """

    places: list[PrimExpr]
    conditions: list[PrimExpr]

    def if_inside(self, value: PrimExpr, otherwise: PrimExpr) -> PrimExpr:
        """Return a value that is looked at only if the element is inside."""
        if not self.conditions:
            return value
        return op.if_then_else(op.all(*self.conditions), value, otherwise)


def place_in_window(
    how: Sliding,
    window: Indices,
    within: Indices,
    image: Sequence[int],
    counts: Sequence[int],
    size: Sequence[int],
) -> PlaceInWindow:
    """Return where an element of a window is.

    Args:
        how: How windows slide.
        window: Which window it is, along each axis.
        within: Which element of it.
        image: The lengths of the axes.
        counts: How many windows there are along each axis.
        size: The lengths of the window.
    """
    places: list[PrimExpr] = []
    conditions: list[PrimExpr] = []
    for axis, (at, k) in enumerate(zip(window, within, strict=True)):
        before, stride, step = how.padding[axis], how.strides[axis], how.dilation[axis]
        place = op.subtract(op.add(at * stride, k * step), before)
        places.append(place)
        if before:
            conditions.append(place >= 0)
        last = (counts[axis] - 1) * stride + (size[axis] - 1) * step - before
        if last >= image[axis]:
            conditions.append(place < image[axis])
    return PlaceInWindow(places, conditions)
