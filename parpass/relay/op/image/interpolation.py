"""Interpolation along one axis: which old elements make up each new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Axis(NamedTuple):
    """One axis of an image that is resized.

    Attributes:
        old: How long it was.
        new: How long it becomes.
        begin: Where the part to resize begins, from 0 to 1.
        end: Where it ends.
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
    """Return where in the old image each new element is."""
    return COORDINATES[rule](np.arange(axis.new, dtype="float64"), axis)


def nearest(axis: Axis, at: Array, rounding: str) -> Array:
    """Return the matrix (new, old) that picks the nearest element."""
    picked = np.clip(ROUNDING[rounding](at), 0, axis.old - 1).astype(int)
    return np.eye(axis.old)[picked]


def linear(axis: Axis, at: Array) -> Array:
    """Return the matrix (new, old) that draws lines between neighbours."""
    left = np.floor(at)
    part = at - left
    return _sum(axis, [(left, 1 - part), (left + 1, part)])


def cubic(axis: Axis, at: Array, alpha: float, *, exclude: bool) -> Array:
    """Return the matrix (new, old) that draws cubic curves through four neighbours.

    Args:
        axis: The axis.
        at: Where each new element is.
        alpha: The curves' parameter, usually -0.5 or -0.75.
        exclude: Whether neighbours outside of the image do not count; otherwise the
            element at the edge stands for them.
    """
    left = np.floor(at)
    part = at - left
    terms: list[tuple[Array, Array]] = []
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
    return _sum(axis, [(place, weight / total) for place, weight in terms])


def _sum(axis: Axis, terms: list[tuple[Array, Array]]) -> Array:
    matrix = np.zeros((axis.new, axis.old))
    rows = np.arange(axis.new)
    for place, weight in terms:
        inside = np.clip(place, 0, axis.old - 1).astype(int)
        np.add.at(matrix, (rows, inside), weight)
    return matrix
