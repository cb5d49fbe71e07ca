"""Resizing along axes by any factor, also one that only the running model knows.

Relay's operators of images take whole lengths; here the weights with which old elements
make up new ones are computed by the program, in one matrix for each axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, const
from parpass.relay.frontend.onnx.onnx_node import OnnxNode
from parpass.runtime.dtypes import is_float_dtype


@dataclass(frozen=True, slots=True)
class Rule:
    """How new elements come from old ones, as ONNX's attributes say it."""

    mode: str
    coordinates: str
    rounding: str
    alpha: float
    exclude: bool
    outside: float
    antialias: bool


@dataclass(frozen=True, slots=True)
class Length:
    """What becomes of the length of an axis; all are scalars of float64.

    Attributes:
        old: How long it was.
        new: How long it becomes.
        scale: The factor by which coordinates grow, which need not be their ratio.
        begin: Where the part to resize begins, from 0 to 1.
        end: Where it ends.
    """

    old: Expr
    new: Expr
    scale: Expr
    begin: Expr
    end: Expr


def number(value: float) -> Expr:
    """Return a scalar as coordinates are computed in."""
    return const(np.float64(value))


def resize_axis(
    node: OnnxNode, data: Expr, axis: int, length: Length, rule: Rule
) -> Expr:
    """Return data that is resized along one axis."""
    place = _places(node, length, rule.coordinates)
    if rule.mode == "nearest":
        found = op.take(data, _nearest(node, place, length, rule.rounding), axis)
    else:
        found = _weighted(node, data, axis, _weights(place, length, rule))
    if rule.coordinates != "tf_crop_and_resize":
        return found
    last = op.subtract(length.old, number(1))
    outside = op.logical_or(op.less(place, number(0)), op.greater(place, last))
    behind = node.rank(data) - axis - 1
    mask = op.expand_dims(outside, 1, behind) if behind else outside
    return op.where(mask, node.scalar(rule.outside, found), found)


def _places(node: OnnxNode, length: Length, rule: str) -> Expr:
    """Return where in the old data each new element is."""
    at = op.arange(number(0), length.new, number(1), "float64")
    half, last = number(0.5), op.subtract(length.old, number(1))
    width = op.multiply(length.scale, length.old)
    steps = op.subtract(width, number(1))
    single = op.equal(width, number(1))
    middle = op.subtract(op.divide(op.add(at, half), length.scale), half)
    if rule == "half_pixel":
        return middle
    if rule == "pytorch_half_pixel":
        return op.where(single, number(-0.5), middle)
    if rule == "half_pixel_symmetric":
        missing = op.subtract(number(1), op.divide(length.new, width))
        return op.add(op.multiply(op.multiply(length.old, half), missing), middle)
    if rule == "asymmetric":
        return op.divide(at, length.scale)
    if rule == "align_corners":
        return op.where(single, number(0), op.divide(op.multiply(at, last), steps))
    if rule == "tf_crop_and_resize":
        part = op.multiply(op.subtract(length.end, length.begin), last)
        spread = op.divide(op.multiply(at, part), steps)
        inside = op.where(single, op.multiply(part, half), spread)
        return op.add(inside, op.multiply(length.begin, last))
    raise node.fault(f"coordinates '{rule}' are none that ONNX knows")


_ROUNDING: dict[str, Callable[[Expr], Expr]] = {
    "round_prefer_floor": lambda at: op.ceil(op.subtract(at, number(0.5))),
    "round_prefer_ceil": lambda at: op.floor(op.add(at, number(0.5))),
    "floor": op.floor,
    "ceil": op.ceil,
}


def _nearest(node: OnnxNode, place: Expr, length: Length, rounding: str) -> Expr:
    if rounding not in _ROUNDING:
        raise node.fault(f"nearest_mode is '{rounding}', which ONNX does not know")
    last = op.subtract(length.old, number(1))
    found = op.maximum(op.minimum(_ROUNDING[rounding](place), last), number(0))
    return op.cast(found, "int64")


def _weights(place: Expr, length: Length, rule: Rule) -> Expr:
    """Return the matrix (old, new) of weights.

    They are those of a curve about each place. What it covers before and behind the
    data counts for the element at the edge, or does not count.
    """
    one, zero = number(1), number(0)
    factor = op.minimum(length.scale, one) if rule.antialias else one
    reach = op.add(op.ceil(op.divide(number(2), factor)), one)
    grid = op.arange(op.negative(reach), op.add(length.old, reach), one, "float64")
    rows = op.expand_dims(grid, 1)
    away = op.abs(op.multiply(op.subtract(rows, place), factor))
    weight = _line(away) if rule.mode == "linear" else _cubic(away, rule.alpha)
    last = op.subtract(length.old, one)
    if rule.exclude:
        inside = op.logical_and(op.greater_equal(rows, zero), op.less_equal(rows, last))
        weight = op.where(inside, weight, zero)
    weight = op.divide(weight, op.sum(weight, 0, True))
    edge = op.maximum(op.minimum(grid, last), zero)
    columns = op.arange(zero, length.old, one, "float64")
    counts_for = op.equal(op.expand_dims(columns, 1), edge)
    return op.nn.matmul(op.cast(counts_for, "float64"), weight)


def _line(away: Expr) -> Expr:
    return op.maximum(op.subtract(number(1), away), number(0))


def _cubic(away: Expr, alpha: float) -> Expr:
    """Return Keys' curve, in two parts: up to 1, and up to 2."""

    def polynomial(*factors: float) -> Expr:
        total = number(0)
        for factor in factors:
            total = op.add(op.multiply(total, away), number(factor))
        return total

    near = polynomial(alpha + 2, -(alpha + 3), 0, 1)
    far = polynomial(alpha, -5 * alpha, 8 * alpha, -4 * alpha)
    far = op.where(op.less(away, number(2)), far, number(0))
    return op.where(op.less_equal(away, number(1)), near, far)


def _weighted(node: OnnxNode, data: Expr, axis: int, weights: Expr) -> Expr:
    rank, dtype = node.rank(data), node.dtype(data)
    if dtype == "bool":
        raise node.refusal("what lies between bools is not supported")
    is_float = is_float_dtype(dtype)
    kind = dtype if dtype.startswith("float") else "float32"
    order = [at for at in range(rank) if at != axis]
    back = list(range(rank - 1))
    back.insert(axis, rank - 1)
    moved = op.transpose(op.cast(data, kind), (*order, axis))
    matrix = op.cast(node.folded(weights), kind)
    if rank == 1:
        moved = op.expand_dims(moved, 0)
        found = op.squeeze(op.nn.matmul(moved, matrix), 0)
    else:
        found = op.transpose(op.nn.matmul(moved, matrix), back)
    if kind == dtype:
        return found
    if is_float:
        return op.cast(found, dtype)
    bounds = np.iinfo(dtype)
    return op.cast(op.clip(op.round(found), bounds.min, bounds.max), dtype)
