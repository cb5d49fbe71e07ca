"""Resizing of images: each element is worked out of those nearest to its place.

Where that is, and what they count, is computed as `relay.op.image.interpolation` does
it, in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from parpass.relay.backend.lowering.extremes import clamped
from parpass.relay.backend.lowering.index_maps import (
    axis_lengths,
    axis_values,
    layout_indices,
)
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    register_injective,
)
from parpass.relay.op.declaration.layout import SPATIAL
from parpass.relay.op.image.interpolation import COORDINATES, Axis
from parpass.relay.op.image.resize import NEAREST, ResizeAttrs
from parpass.relay.op.nn.upsample import as_resize
from parpass.runtime.dtypes import is_int_dtype
from parpass.tir import op
from parpass.tir.expr import PrimExpr, Select

_WIDE = "float64"


def _real(value: float) -> PrimExpr:
    return op.const(value, _WIDE)


_ROUNDING: dict[str, Callable[[Any], PrimExpr]] = {
    "round": lambda at: op.floor(at + _real(0.5)),
    "round_prefer_floor": lambda at: op.ceil(at - _real(0.5)),
    "round_prefer_ceil": lambda at: op.floor(at + _real(0.5)),
    "floor": op.floor,
    "ceil": op.ceil,
}


class _Term(NamedTuple):
    """An element along an axis, and what it counts; None for all."""

    place: PrimExpr
    weight: PrimExpr | None


@register_injective(*(f"image.resize{rank}d" for rank in (1, 2, 3)))
def _resize(call: OpCall[ResizeAttrs], indices: Indices) -> PrimExpr:
    attrs = call.attrs
    (data,), spatial = call.sources, SPATIAL[len(attrs.size)]
    old = axis_lengths(data.shape, attrs.layout, f"NC{spatial}")[2:]
    if 0 in old:
        raise NoRuleError("the nearest of no elements")
    rank, at = len(spatial), axis_values(indices, attrs.layout)
    roi = attrs.roi or (0.0,) * rank + (1.0,) * rank
    rule = attrs.coordinate_transformation_mode
    terms: list[list[_Term]] = []
    beyond: list[PrimExpr] = []
    for axis, letter in enumerate(spatial):
        how = Axis(old[axis], attrs.size[axis], roi[axis], roi[axis + rank])
        place = _place(rule, op.cast_to(at[letter], _WIDE), how)
        terms.append(_terms(attrs, how, place))
        beyond += [place < _real(0), place > _real(how.old - 1)]

    def summed(axis: int, places: dict[str, PrimExpr]) -> PrimExpr:
        """Return what there is once the first axes are resized, the others not yet."""
        if axis < 0:
            return data.at(layout_indices({**at, **places}, attrs.layout))
        parts: list[PrimExpr] = []
        for place, weight in terms[axis]:
            value = summed(axis - 1, {**places, spatial[axis]: place})
            if weight is None:
                return value
            value = op.cast_to(value, _WIDE)
            # What counts nothing may be infinite.
            counted = Select(op.equal(weight, _real(0)), _real(0), value)
            parts.append(op.multiply(counted, weight))
        found = parts[0]
        for part in parts[1:]:
            found = op.add(found, part)
        return found

    result = summed(rank - 1, {})
    if rule == "tf_crop_and_resize":
        filler = op.const(attrs.extrapolation_value, result.dtype)
        result = Select(op.any(*beyond), filler, result)
    rounds = is_int_dtype(call.out.dtype)
    if rounds and attrs.method != "nearest_neighbor":
        result = op.nearbyint(result)
    return op.cast_to(result, call.out.dtype)


@register_injective("nn.upsampling", "nn.upsampling3d")
def _upsampling(call: OpCall[Any], indices: Indices) -> PrimExpr:
    attrs = as_resize(call.attrs, call.sources[0].shape)
    return _resize(OpCall(attrs, call.sources, call.out, call.target), indices)


def _place(rule: str, at: PrimExpr, axis: Axis) -> PrimExpr:
    if rule == "pytorch_half_pixel":
        rule = "half_pixel" if axis.new > 1 else ""
    # The rules are arithmetic, of arrays and of expressions.
    compute: Any = COORDINATES.get(rule)
    return compute(at, axis) if compute else _real(0)


def _inside(place: PrimExpr, axis: Axis) -> PrimExpr:
    nearest = clamped(place, _real(0), _real(axis.old - 1))
    return op.cast_to(nearest, "int32")


def _terms(attrs: ResizeAttrs, axis: Axis, place: PrimExpr) -> list[_Term]:
    if attrs.method == "nearest_neighbor":
        default = NEAREST[attrs.coordinate_transformation_mode]
        rounded = _ROUNDING[attrs.rounding_method or default](place)
        return [_Term(_inside(rounded, axis), None)]
    left = op.floor(place)
    part = op.subtract(place, left)
    if attrs.method == "cubic":
        return _cubic(attrs, axis, left, part)
    return [
        _Term(_inside(left, axis), op.subtract(_real(1), part)),
        _Term(_inside(op.add(left, _real(1)), axis), part),
    ]


def _cubic(
    attrs: ResizeAttrs, axis: Axis, left: PrimExpr, part: PrimExpr
) -> list[_Term]:
    alpha = attrs.bicubic_alpha
    found: list[tuple[PrimExpr, PrimExpr]] = []
    for step in (-1, 0, 1, 2):
        x: Any = op.abs(op.subtract(part, _real(step)))
        near = ((x * _real(alpha + 2)) - _real(alpha + 3)) * x * x + _real(1)
        far = ((x - _real(5)) * x + _real(8)) * x * _real(alpha) - _real(4 * alpha)
        weight: PrimExpr = Select(x <= _real(1), near, far)
        place = op.add(left, _real(step))
        if attrs.bicubic_exclude:
            outside = op.any(place < _real(0), place >= _real(axis.old))
            weight = Select(outside, _real(0), weight)
        found.append((place, weight))
    total: Any = _real(0)
    for _, weight in found:
        total = op.add(total, weight)
    if attrs.bicubic_exclude:
        found = [(place, op.div(weight, total)) for place, weight in found]
    return [_Term(_inside(place, axis), weight) for place, weight in found]
