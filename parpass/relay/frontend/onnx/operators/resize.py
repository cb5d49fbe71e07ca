"""Resizing of signals, images and volumes."""

from __future__ import annotations

from math import floor

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.node import Node
from parpass.relay.frontend.onnx.operators.axes import normal_axis
from parpass.relay.frontend.onnx.operators.signature import Converter

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
_BUILDERS = {3: op.image.resize1d, 4: op.image.resize2d, 5: op.image.resize3d}


def _new_shape(
    node: Node, shape: tuple[int, ...], scales: tuple[float, ...]
) -> tuple[int, ...]:
    if len(scales) != len(shape):
        raise node.refusal(f"expected a scale for each of {len(shape)} dimensions")
    new = tuple(floor(dim * scale) for dim, scale in zip(shape, scales, strict=True))
    pairs = zip(shape, new, scales, strict=True)
    if any(dim * scale != length for dim, length, scale in pairs):
        # Coordinates follow the scale then, not the ratio of the lengths.
        raise node.refusal(f"scales {scales} of shape {shape} give broken lengths")
    return new


def _resized(
    node: Node, data: Expr, new: tuple[int, ...], method: str, how: dict[str, object]
) -> Expr:
    shape = node.shape(data)
    build = _BUILDERS.get(len(shape))
    if build is None or shape[:2] != new[:2]:
        raise node.refusal(f"expected batch, channels and 1 to 3 axes, got {shape}")
    if method not in _METHODS:
        raise node.fault(f"mode is '{method}', which ONNX does not know")
    settings: dict[str, object] = {"method": _METHODS[method], **how}
    return build(data, new[2:], **settings)  # pyright: ignore[reportArgumentType]


def _upsample(node: Node) -> Expr:
    data = node.input(0)
    given = node.numbers("scales")
    if given is None:
        given = tuple(float(one) for one in node.known(1, "scales").reshape(-1))
    new = _new_shape(node, node.shape(data), given)
    how: dict[str, object] = {"coordinate_transformation_mode": "asymmetric"}
    return _resized(node, data, new, node.text("mode", "nearest"), how)


def _floats(node: Node, index: int, what: str, count: int) -> list[float]:
    found = [float(one) for one in node.known(index, what).reshape(-1)]
    if len(found) != count:
        raise node.fault(f"expected {count} {what}, got {len(found)}")
    return found


def _resize(node: Node) -> Expr:
    """Before opset 11 there are scales alone, and one rule of coordinates."""
    if node.opset < 11:
        return _upsample(node)
    data = node.input(0)
    shape = node.shape(data)
    rule = node.text("coordinate_transformation_mode", "half_pixel")
    if rule == "half_pixel_symmetric":
        raise node.refusal(f"coordinates '{rule}' are not supported")
    how: dict[str, object] = {
        "coordinate_transformation_mode": rule,
        "rounding_method": node.text("nearest_mode", "round_prefer_floor"),
        "bicubic_alpha": node.number("cubic_coeff_a", -0.75),
        "bicubic_exclude": node.integer("exclude_outside", 0) != 0,
        "extrapolation_value": node.number("extrapolation_value", 0.0),
    }
    rank = len(shape)
    axes = node.integers("axes") or tuple(range(rank))
    places = [normal_axis(node, axis, shape) for axis in axes]
    if node.optional(1) is not None and rule == "tf_crop_and_resize":
        roi = [0.0] * rank + [1.0] * rank
        for at, bound in enumerate(_floats(node, 1, "roi", 2 * len(places))):
            half, axis = divmod(at, len(places))
            roi[half * rank + places[axis]] = bound
        how["roi"] = (*roi[2:rank], *roi[rank + 2 :])
    if node.optional(3) is not None:
        lengths = list(shape)
        for axis, length in zip(
            places, _floats(node, 3, "sizes", len(places)), strict=True
        ):
            lengths[axis] = int(length)
        new = tuple(lengths)
    else:
        scales = [1.0] * rank
        for axis, scale in zip(
            places, _floats(node, 2, "scales", len(places)), strict=True
        ):
            scales[axis] = scale
        new = _new_shape(node, shape, tuple(scales))
    return _resized(node, data, new, node.text("mode", "nearest"), how)


RESIZE: dict[str, Converter] = {"Resize": _resize, "Upsample": _upsample}
