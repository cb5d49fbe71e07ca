"""Images read at places that are data: GridSample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, const
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators.axes import element

# The elements about a place that count, as steps from the one before it.
_STEPS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
_OLD_MODES = {"bilinear": "linear", "bicubic": "cubic"}
_ALPHA = -0.75


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of the image.

    Attributes:
        length: How long it is.
        low: Where it begins, in steps from the middle of the first element.
        high: Where it ends.
        padding: What is read beyond its ends: zeros, the last element, or the image
            mirrored.
    """

    length: int
    low: float
    high: float
    padding: str

    def place(self, normal: Expr) -> Expr:
        """Return the places that numbers from -1 to 1 mean."""
        half = _number((self.high - self.low) / 2)
        return op.add(op.multiply(op.add(normal, _number(1)), half), _number(self.low))

    def inside(self, place: Expr) -> Expr:
        """Return places or indices that are beyond the ends where they are read."""
        if self.padding == "border":
            last = _number(self.length - 1)
            return op.maximum(op.minimum(place, last), _number(0))
        if self.padding == "zeros":
            return place
        whole = self.high - self.low
        if whole == 0:
            return op.zeros_like(place)
        away = op.abs(op.subtract(place, _number(self.low)))
        times = op.floor(op.divide(away, _number(whole)))
        rest = op.subtract(away, op.multiply(times, _number(whole)))
        odd = op.equal(op.floor_mod(times, _number(2)), _number(1))
        there, back = (
            op.add(_number(self.low), rest),
            op.subtract(_number(self.high), rest),
        )
        return op.where(odd, back, there)

    def read(self, index: Expr) -> tuple[Expr, Expr]:
        """Return the index that is read, and whether it is one of the image."""
        found = self.inside(index)
        last = _number(self.length - 1)
        is_there = op.logical_and(
            op.greater_equal(found, _number(0)), op.less_equal(found, last)
        )
        return op.maximum(op.minimum(found, last), _number(0)), is_there


def _number(value: float) -> Expr:
    return const(np.float64(value))


def _line(part: Expr) -> list[Expr]:
    return [op.subtract(_number(1), part), part]


def _cubic(part: Expr) -> list[Expr]:
    """Return the weights of four elements by Keys' curve."""
    weights: list[Expr] = []
    for step in _STEPS["cubic"]:
        away = op.abs(op.subtract(part, _number(step)))
        near = step in (0, 1)
        factors = (
            (_ALPHA + 2, -(_ALPHA + 3), 0, 1)
            if near
            else (_ALPHA, -5 * _ALPHA, 8 * _ALPHA, -4 * _ALPHA)
        )
        total = _number(0)
        for factor in factors:
            total = op.add(op.multiply(total, away), _number(factor))
        weights.append(total)
    return weights


_WEIGHTS: dict[str, Callable[[Expr], list[Expr]]] = {
    "nearest": lambda part: [op.ones_like(part)],
    "linear": _line,
    "cubic": _cubic,
}


def _terms(axis: _Axis, normal: Expr, mode: str) -> list[tuple[Expr, Expr]]:
    """Return the indices along an axis that count, each with its weight."""
    place = axis.place(normal)
    if mode == "nearest":
        place = op.round(place)
    beyond = op.logical_or(
        op.less(place, _number(axis.low)), op.greater(place, _number(axis.high))
    )
    place = op.where(beyond, axis.inside(place), place)
    first = op.floor(place)
    weights = _WEIGHTS[mode](op.subtract(place, first))
    terms: list[tuple[Expr, Expr]] = []
    for step, weight in zip(_STEPS[mode], weights, strict=True):
        index, is_there = axis.read(op.add(first, _number(step)))
        terms.append((index, op.where(is_there, weight, _number(0))))
    return terms


def _grid_sample(node: OnnxNode) -> Expr:
    data, grid = node.input(0), node.input(1)
    mode, padding = node.text("mode", "linear"), node.text("padding_mode", "zeros")
    mode = _OLD_MODES.get(mode, mode)
    if mode not in _STEPS or padding not in ("zeros", "border", "reflection"):
        raise node.fault(
            f"mode '{mode}' with padding_mode '{padding}' is unknown to ONNX"
        )
    edge = 0.0 if node.integer("align_corners", 0) else 0.5
    batch, channels, *lengths = node.shape(data)
    places = node.shape(grid)[1:-1]
    axes = [_Axis(one, -edge, one - 1 + edge, padding) for one in lengths]
    count = prod(places)
    flat = op.reshape(op.cast(grid, "float64"), (batch, count, len(axes)))
    # The last axis of the image comes first in the grid.
    terms = [
        _terms(axis, element(flat, len(axes) - 1 - at, 2), mode)
        for at, axis in enumerate(axes)
    ]
    rows = op.reshape(data, (batch, channels, prod(lengths)))
    total = _sum(node, rows, terms, lengths, (batch, channels, count))
    return op.reshape(op.cast(total, node.dtype(data)), (batch, channels, *places))


def _sum(
    node: OnnxNode,
    rows: Expr,
    terms: Sequence[Sequence[tuple[Expr, Expr]]],
    lengths: Sequence[int],
    shape: tuple[int, int, int],
) -> Expr:
    """Return the weighted sum of the elements that count about each place."""
    total: Expr | None = None
    for chosen in product(*terms):
        flat, weight = _number(0), _number(1)
        for (index, part), length in zip(chosen, lengths, strict=True):
            flat = op.add(op.multiply(flat, _number(length)), index)
            weight = op.multiply(weight, part)
        index = op.expand_dims(op.cast(flat, "int64"), 1)
        found = op.gather(rows, 2, op.broadcast_to(index, shape))
        term = op.multiply(op.cast(found, "float64"), op.expand_dims(weight, 1))
        total = term if total is None else op.add(total, term)
    if total is None:
        raise node.fault("expected an image with axes")
    return total


SAMPLE: dict[str, Converter] = {"GridSample": _grid_sample}
