"""Converters of resizing: signals, images, volumes, and tensors with other axes.

Factors may be fractions, and known only when the program runs. Relay's image operators
take integer lengths; for other factors the program computes the weights with which old
elements contribute to new ones, as one matrix for each axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, const
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators.axes import element, normal_axis, shape_of
from parpass.runtime.dtypes import is_float_dtype


@dataclass(frozen=True, slots=True)
class InterpolationRule:
    """The rule of interpolation, as ONNX's attributes give it."""

    mode: str
    coordinates: str
    rounding: str
    alpha: float
    exclude: bool
    outside: float
    antialias: bool


@dataclass(frozen=True, slots=True)
class Length:
    """The lengths of an axis; all are scalars of float64.

    Attributes:
        old: The length of the input.
        new: The length of the output.
        scale: The factor of coordinates, which need not be the ratio of the lengths.
        begin: The start of the part to resize, from 0 to 1.
        end: The end of the part, likewise.
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
    node: OnnxNode, data: Expr, axis: int, length: Length, rule: InterpolationRule
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
    raise node.fault(f"coordinates '{rule}' are unknown to ONNX")


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


def _weights(place: Expr, length: Length, rule: InterpolationRule) -> Expr:
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
        raise node.refusal("interpolation between bools is not supported")
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


_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
_BUILDERS = {3: op.image.resize1d, 4: op.image.resize2d, 5: op.image.resize3d}


class _Request:
    """The resizing that a node specifies, along some axes.

    Attributes:
        places: The axes.
        scales: The input with a factor for each axis, or None.
        sizes: The input with a length for each axis, or None.
        roi: The input with the part to resize, or None.
        policy: Whether the ratio of the lengths is kept, and how.
    """

    def __init__(
        self, node: OnnxNode, data: Expr, rule: InterpolationRule, *given: Expr | None
    ) -> None:
        self.node = node
        self.data = data
        self.rule = rule
        rank = node.rank(data)
        axes = node.integers("axes") or tuple(range(rank))
        self.places = [normal_axis(node, axis, (0,) * rank) for axis in axes]
        crops = rule.coordinates == "tf_crop_and_resize"
        # An empty one is one that is left out.
        full = [one if one is None or node.dims(one) != (0,) else None for one in given]
        self.roi = full[0] if crops else None
        self.scales, self.sizes = full[1], full[2]
        self.policy = node.text("keep_aspect_ratio_policy", "stretch")
        if self.policy not in ("stretch", "not_larger", "not_smaller"):
            raise node.fault(f"keep_aspect_ratio_policy is '{self.policy}'")
        if (self.scales is None) == (self.sizes is None):
            raise node.fault("expected either scales or sizes")

    def whole(self) -> tuple[tuple[int, ...], tuple[float, ...]] | None:
        """Return the new shape and the part to resize, if an operator of images can."""
        node, data = self.node, self.data
        rules = (self.rule.coordinates == "half_pixel_symmetric", self.rule.antialias)
        if any(rules) or self.policy != "stretch" or not node.has_static_shape(data):
            return None
        given = [self.roi, self.scales, self.sizes]
        if any(one is not None and node.value(one) is None for one in given):
            return None
        shape = node.shape(data)
        new = self._new_shape(shape)
        if new is None or len(shape) not in _BUILDERS or new[:2] != shape[:2]:
            return None
        return new, self._part(len(shape))

    def _new_shape(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        new = list(shape)
        if self.scales is None:
            lengths = self._floats(self.sizes, "sizes")
            for axis, length in zip(self.places, lengths, strict=True):
                new[axis] = int(length)
            return tuple(new)
        scales = self._floats(self.scales, "scales")
        for axis, scale in zip(self.places, scales, strict=True):
            new[axis] = floor(shape[axis] * scale)
            # Otherwise coordinates follow the scale, not the ratio of the lengths.
            if new[axis] != shape[axis] * scale:
                return None
        return tuple(new)

    def _part(self, rank: int) -> tuple[float, ...]:
        if self.roi is None:
            return ()
        part = [0.0] * rank + [1.0] * rank
        count = len(self.places)
        for at, bound in enumerate(self._floats(self.roi, "roi", 2)):
            half, axis = divmod(at, count)
            part[half * rank + self.places[axis]] = bound
        return (*part[2:rank], *part[rank + 2 :])

    def _floats(self, given: Expr | None, what: str, each: int = 1) -> list[float]:
        value = None if given is None else self.node.value(given)
        found = [] if value is None else [float(one) for one in value.reshape(-1)]
        if len(found) != each * len(self.places):
            raise self.node.fault(
                f"expected {each * len(self.places)} {what}, got {len(found)}"
            )
        return found

    def lengths(self) -> list[Length]:
        """Return what becomes of each axis, as expressions."""
        shape = op.cast(shape_of(self.node, self.data), "float64")
        old = op.take(shape, const(np.array(self.places)), 0)
        if self.scales is not None:
            scales = op.cast(self.scales, "float64")
            new = op.floor(op.multiply(old, scales))
        else:
            assert self.sizes is not None
            new = op.cast(self.sizes, "float64")
            scales = op.divide(new, old)
            if self.policy != "stretch":
                choose = op.min if self.policy == "not_larger" else op.max
                scales = op.add(op.zeros_like(old), choose(scales))
                new = op.floor(op.add(op.multiply(scales, old), number(0.5)))
        count = len(self.places)
        bounds = [number(0)] * count + [number(1)] * count
        if self.roi is not None:
            roi = op.cast(self.roi, "float64")
            bounds = [element(roi, at) for at in range(2 * count)]
        old, new, scales = map(self.node.folded, (old, new, scales))
        return [
            Length(
                element(old, at),
                element(new, at),
                element(scales, at),
                bounds[at],
                bounds[at + count],
            )
            for at in range(count)
        ]


def _stays(node: OnnxNode, length: Length) -> bool:
    old, new, scale = map(node.value, (length.old, length.new, length.scale))
    return old is not None and scale is not None and scale == 1 and old == new


def _resized(request: _Request) -> Expr:
    node, data, rule = request.node, request.data, request.rule
    if rule.mode not in _METHODS:
        raise node.fault(f"mode is '{rule.mode}', which ONNX does not know")
    found = request.whole()
    if found is None:
        lengths = request.lengths()
        for axis, length in zip(request.places, lengths, strict=True):
            if request.roi is not None or not _stays(node, length):
                data = resize_axis(node, data, axis, length, rule)
        return data
    new, part = found
    how: dict[str, object] = {
        "method": _METHODS[rule.mode],
        "coordinate_transformation_mode": rule.coordinates,
        "rounding_method": rule.rounding,
        "bicubic_alpha": rule.alpha,
        "bicubic_exclude": rule.exclude,
        "extrapolation_value": rule.outside,
    }
    how |= {"roi": part} if part else {}
    build = _BUILDERS[node.rank(data)]
    return build(data, new[2:], **how)  # pyright: ignore[reportArgumentType]


_FIRST_RULE = InterpolationRule(
    "nearest", "asymmetric", "floor", -0.75, False, 0.0, False
)


def _upsample(node: OnnxNode) -> Expr:
    data = node.input(0)
    rule = replace(_FIRST_RULE, mode=node.text("mode", "nearest"))
    given: Sequence[float] | None = node.numbers("scales")
    scales = node.input(1) if given is None else const(np.array(given, "float32"))
    return _resized(_Request(node, data, rule, None, scales, None))


def _resize(node: OnnxNode) -> Expr:
    """Before opset 11 there are scales alone, and one rule of coordinates."""
    if node.opset < 11:
        return _upsample(node)
    rule = InterpolationRule(
        mode=node.text("mode", "nearest"),
        coordinates=node.text("coordinate_transformation_mode", "half_pixel"),
        rounding=node.text("nearest_mode", "round_prefer_floor"),
        alpha=node.number("cubic_coeff_a", -0.75),
        exclude=node.integer("exclude_outside", 0) != 0,
        outside=node.number("extrapolation_value", 0.0),
        antialias=node.integer("antialias", 0) != 0,
    )
    given = [node.optional(index) for index in (1, 2, 3)]
    return _resized(_Request(node, node.input(0), rule, *given))


RESIZE: dict[str, Converter] = {"Resize": _resize, "Upsample": _upsample}
"""By operator name."""
