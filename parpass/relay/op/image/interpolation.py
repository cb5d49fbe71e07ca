"""Interpolation along one axis: the weights of old elements in each new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from parpass.ir.op.op_table import Array


class Axis(NamedTuple):
    """One axis of an image that is resized.

    Attributes:
        old: The old length.
        new: The new length.
        begin: The begin of the region to resize, from 0 to 1.
        end: The end of that region.
    """

    old: int
    new: int
    begin: float = 0.0
    end: float = 1.0


def _half_pixel(at: Array, axis: Axis) -> Array:
    return (at + 0.5) * axis.old / axis.new - 0.5


def _align_corners(at: Array, axis: Axis) -> Array:
    return at * ((axis.old - 1) / (axis.new - 1) if axis.new > 1 else 0)


def _asymmetric(at: Array, axis: Axis) -> Array:
    return at * axis.old / axis.new


def _pytorch_half_pixel(at: Array, axis: Axis) -> Array:
    return _half_pixel(at, axis) if axis.new > 1 else np.zeros_like(at)


def _tf_half_pixel_for_nn(at: Array, axis: Axis) -> Array:
    return (at + 0.5) * axis.old / axis.new


def _tf_crop_and_resize(at: Array, axis: Axis) -> Array:
    last = axis.old - 1
    if axis.new == 1:
        return at + 0.5 * (axis.begin + axis.end) * last
    return axis.begin * last + at * (axis.end - axis.begin) * last / (axis.new - 1)


COORDINATES: dict[str, Callable[[Array, Axis], Array]] = {
    "half_pixel": _half_pixel,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "tf_half_pixel_for_nn": _tf_half_pixel_for_nn,
    "tf_crop_and_resize": _tf_crop_and_resize,
}
"""Where in the old image each new element is, by the name of the rule."""

ROUNDING: dict[str, Callable[[Array], Array]] = {
    "round": lambda at: np.floor(at + 0.5),
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
"""What the nearest old element is, by the name of the rule."""


def places(axis: Axis, rule: str) -> Array:
    """Return the coordinate in the old image of each new element."""
    return COORDINATES[rule](np.arange(axis.new, dtype="float64"), axis)


def nearest(axis: Axis, at: Array, rounding: str) -> Array:
    """Return the index of the nearest old element."""
    return np.clip(ROUNDING[rounding](at), 0, axis.old - 1).astype(int)


Term = tuple[Array, Array]
"""An old element for each new one, and what it counts there."""


def linear(axis: Axis, at: Array) -> list[Term]:
    """Return the neighbours for linear interpolation."""
    left = np.floor(at)
    part = at - left
    return _inside(axis, [(left, 1 - part), (left + 1, part)])


def cubic(axis: Axis, at: Array, alpha: float, *, exclude: bool) -> list[Term]:
    """Return the four neighbours for cubic interpolation.

    Args:
        axis: The axis.
        at: The coordinate of each new element.
        alpha: The curves' parameter, usually -0.5 or -0.75.
        exclude: Whether neighbours outside of the image do not count; otherwise the
            element at the edge stands for them.
    """
    left = np.floor(at)
    part = at - left
    terms: list[Term] = []
    for step in (-1, 0, 1, 2):
        x = np.abs(part - step)
        near = ((alpha + 2) * x - (alpha + 3)) * x * x + 1
        far = ((x - 5) * x + 8) * x * alpha - 4 * alpha
        weight = np.where(x <= 1, near, far)
        place = left + step
        if exclude:
            weight = np.where((place < 0) | (place >= axis.old), 0, weight)
        terms.append((place, weight))
    total = sum(weight for _, weight in terms) if exclude else 1.0
    return _inside(axis, [(place, weight / total) for place, weight in terms])


def weighted(data: Array, at: int, terms: list[Term]) -> Array:
    """Return the weighted sums of neighbours along an axis.

    Elements of weight 0 are left out: they may be infinite.
    """
    shape = (-1, *(1,) * (data.ndim - 1 - at))
    parts = [
        np.where(weight.reshape(shape) == 0, 0, data.take(place, at))
        * weight.reshape(shape)
        for place, weight in terms
    ]
    return np.sum(parts, axis=0)


def _inside(axis: Axis, terms: list[Term]) -> list[Term]:
    return [
        (np.clip(place, 0, axis.old - 1).astype(int), weight) for place, weight in terms
    ]
