"""Resizing of signals, images, volumes, and of what has other axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, const
from parpass.relay.frontend.onnx.onnx_node import OnnxNode
from parpass.relay.frontend.onnx.operators.axes import normal_axis, shape_of
from parpass.relay.frontend.onnx.operators.interpolate import (
    Length,
    Rule,
    number,
    resize_axis,
)
from parpass.relay.frontend.onnx.operators.signature import Converter

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
_BUILDERS = {3: op.image.resize1d, 4: op.image.resize2d, 5: op.image.resize3d}


class _Request:
    """What a node asks for, along some axes.

    Attributes:
        places: The axes.
        scales: The input that has a factor for each, or None.
        sizes: The input that has a length for each, or None.
        roi: The input that says which part to resize, or None.
        policy: Whether the ratio of the lengths is kept, and how.
    """

    def __init__(
        self, node: OnnxNode, data: Expr, rule: Rule, *given: Expr | None
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
            bounds = [_field(roi, at) for at in range(2 * count)]
        old, new, scales = map(self.node.folded, (old, new, scales))
        return [
            Length(
                _field(old, at),
                _field(new, at),
                _field(scales, at),
                bounds[at],
                bounds[at + count],
            )
            for at in range(count)
        ]


def _field(data: Expr, at: int) -> Expr:
    return op.take(data, const(np.int64(at)), 0)


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


_FIRST_RULE = Rule("nearest", "asymmetric", "floor", -0.75, False, 0.0, False)


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
    rule = Rule(
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
