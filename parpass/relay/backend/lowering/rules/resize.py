"""Resizing of images: each element is worked out of those nearest to its place.

Where these are, and what they count, depends on the index along one axis alone. So it
is computed once for each axis, as `relay.op.image.interpolation` does it, in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from parpass.relay.backend.lowering.elementwise_loops import elementwise_nest
from parpass.relay.backend.lowering.extremes import clamped
from parpass.relay.backend.lowering.index_maps import (
    axis_lengths,
    axis_values,
    layout_indices,
)
from parpass.relay.backend.lowering.loops import (
    INDEX,
    Loop,
    allocated,
    nest,
    scratch,
    within_loops,
)
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    Store,
    register_template,
)
from parpass.relay.op.declaration.layout import SPATIAL
from parpass.relay.op.image import interpolation
from parpass.relay.op.image.interpolation import COORDINATES, Axis
from parpass.relay.op.image.resize import NEAREST, ResizeAttrs
from parpass.relay.op.nn.upsample import as_resize
from parpass.runtime.dtypes import is_int_dtype
from parpass.tir import op
from parpass.tir.expr import Buffer, BufferLoad, PrimExpr, Select, Var
from parpass.tir.stmt import BufferStore, Stmt, stmt_seq

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


class _Neighbours(NamedTuple):
    """The old elements along an axis that a new one is worked out of.

    Attributes:
        places: Where they are.
        weights: What each counts; none if there is one, which is taken as it is.
        outside: Whether the new one is outside of the image; none if all count.
    """

    places: list[PrimExpr]
    weights: list[PrimExpr]
    outside: list[PrimExpr]


@register_template(*(f"image.resize{rank}d" for rank in (1, 2, 3)))
def _resize(call: OpCall[ResizeAttrs], store: Store) -> Stmt:
    return _Resizing(call, store).stmt()


@register_template("nn.upsampling", "nn.upsampling3d")
def _upsampling(call: OpCall[Any], store: Store) -> Stmt:
    attrs = as_resize(call.attrs, call.sources[0].shape)
    return _Resizing(call._replace(attrs=attrs), store).stmt()


class _Resizing:
    """The loops of a resizing.

    Args:
        call: The call.
        store: Takes the results.
    """

    def __init__(self, call: OpCall[ResizeAttrs], store: Store) -> None:
        attrs = self._attrs = call.attrs
        (self._data,), self._out, self._target = call.sources, call.out, call.target
        self._store = store
        self._spatial = SPATIAL[len(attrs.size)]
        old = axis_lengths(self._data.shape, attrs.layout, f"NC{self._spatial}")[2:]
        if 0 in old:
            raise NoRuleError("the nearest of no elements")
        rank = len(old)
        roi = attrs.roi or (0.0,) * rank + (1.0,) * rank
        self._axes = [
            Axis(*each)
            for each in zip(old, attrs.size, roi[:rank], roi[rank:], strict=True)
        ]
        # Along each axis: of an index, what is known of it.
        self._neighbours: list[Callable[[PrimExpr], _Neighbours]] = []
        self._tables: list[Buffer] = []
        self._stages: list[Stmt] = []

    def stmt(self) -> Stmt:
        """Return the loops."""
        for axis in self._axes:
            step = _whole_step(self._attrs, axis)
            self._neighbours.append(step or self._in_tables(axis))
        stages = [*self._stages, self._results()]
        body = stmt_seq(*stages)
        for table in reversed(self._tables):
            body = allocated(table, body)
        return body

    def _in_tables(self, axis: Axis) -> Callable[[PrimExpr], _Neighbours]:
        """Compute what is known along an axis; return what looks it up."""
        at = Var("at", INDEX)
        known = _neighbours(self._attrs, axis, at)
        values = [*known.places, *known.weights, *known.outside]
        tables = [scratch((axis.new,), one.dtype, "table") for one in values]
        pairs = zip(tables, values, strict=True)
        stores = [BufferStore(table, value, [at]) for table, value in pairs]
        self._stages.append(within_loops([Loop(at, axis.new)], stmt_seq(*stores)))
        self._tables += tables
        weights = len(known.places)
        outside = weights + len(known.weights)

        def found(index: PrimExpr) -> _Neighbours:
            every: list[PrimExpr] = [BufferLoad(table, [index]) for table in tables]
            return _Neighbours(every[:weights], every[weights:outside], every[outside:])

        return found

    def _results(self) -> Stmt:
        """Return the loops over the results.

        Where neighbours in memory are those along the last axis that is resized, what
        comes of the others is computed first, for a whole row.
        """
        layout, last = self._attrs.layout, len(self._axes) - 1
        if layout[-1] != "W" or not last or self._attrs.method == "nearest_neighbor":
            return elementwise_nest(
                self._out.shape,
                lambda at: self._store(at, self._element(at)),
                self._target,
            )
        row = scratch((self._axes[last].old,), _WIDE, "row")

        def of_row(at: list[PrimExpr]) -> Stmt:
            *outer, _ = at

            def between(place: list[PrimExpr]) -> Stmt:
                found = self._summed(last - 1, axis_values([*outer, *place], layout))
                return BufferStore(row, op.cast_to(found, _WIDE), place)

            def element(place: list[PrimExpr]) -> Stmt:
                found = self._joined(last, place[0], lambda old: BufferLoad(row, [old]))
                indices = [*outer, *place]
                return self._store(indices, self._finished(indices, found))

            old, new = self._axes[last][:2]
            return stmt_seq(
                elementwise_nest((old,), between, self._target),
                elementwise_nest((new,), element, self._target),
            )

        return allocated(row, nest([*self._out.shape[:-1], 1], of_row))

    def _element(self, indices: Indices) -> PrimExpr:
        at = axis_values(indices, self._attrs.layout)
        found = self._summed(len(self._axes) - 1, at)
        return self._finished(indices, found)

    def _summed(self, axis: int, at: dict[str, PrimExpr]) -> PrimExpr:
        """Return what there is once the first axes are resized, the others not yet."""
        if axis < 0:
            return self._data.at(layout_indices(at, self._attrs.layout))
        letter = self._spatial[axis]
        return self._joined(
            axis,
            at[letter],
            lambda place: self._summed(axis - 1, {**at, letter: place}),
        )

    def _joined(
        self, axis: int, at: PrimExpr, of_old: Callable[[PrimExpr], PrimExpr]
    ) -> PrimExpr:
        """Return the sum of neighbours along an axis, or the only one."""
        known = self._neighbours[axis](at)
        if not known.weights:
            return of_old(known.places[0])
        parts: list[PrimExpr] = []
        for place, weight in zip(known.places, known.weights, strict=True):
            value = op.cast_to(of_old(place), _WIDE)
            # What counts nothing may be infinite.
            counted = Select(op.equal(weight, _real(0)), _real(0), value)
            parts.append(op.multiply(counted, weight))
        found = parts[0]
        for part in parts[1:]:
            found = op.add(found, part)
        return found

    def _finished(self, indices: Indices, found: PrimExpr) -> PrimExpr:
        """Return an element of the result, of the sum of its neighbours."""
        at = axis_values(indices, self._attrs.layout)
        outside = [
            one
            for letter, known in zip(self._spatial, self._neighbours, strict=True)
            for one in known(at[letter]).outside
        ]
        if outside:
            filler = op.const(self._attrs.extrapolation_value, found.dtype)
            found = Select(op.any(*outside), filler, found)
        rounds = is_int_dtype(self._out.dtype)
        if rounds and self._attrs.method != "nearest_neighbor":
            found = op.nearbyint(found)
        return op.cast_to(found, self._out.dtype)


def _whole_step(
    attrs: ResizeAttrs, axis: Axis
) -> Callable[[PrimExpr], _Neighbours] | None:
    """Return where the nearest is, if every so many have the same one; else None."""
    rule = attrs.coordinate_transformation_mode
    if attrs.method != "nearest_neighbor" or rule == "tf_crop_and_resize":
        return None
    times, rest = divmod(axis.new, axis.old)
    if rest:
        return None
    rounding = attrs.rounding_method or NEAREST[rule]
    found = interpolation.nearest(axis, interpolation.places(axis, rule), rounding)
    if (found != np.arange(axis.new) // times).any():
        return None
    return lambda at: _Neighbours([op.floordiv(at, times)], [], [])


def _neighbours(attrs: ResizeAttrs, axis: Axis, at: PrimExpr) -> _Neighbours:
    """Return the neighbours of a new element."""
    rule = attrs.coordinate_transformation_mode
    place = _place(rule, op.cast_to(at, _WIDE), axis)
    outside: list[PrimExpr] = []
    if rule == "tf_crop_and_resize":
        outside = [op.any(place < _real(0), place > _real(axis.old - 1))]
    if attrs.method == "nearest_neighbor":
        rounded = _ROUNDING[attrs.rounding_method or NEAREST[rule]](place)
        return _Neighbours([_inside(rounded, axis)], [], outside)
    left = op.floor(place)
    part = op.subtract(place, left)
    if attrs.method == "cubic":
        terms = _cubic(attrs, axis, left, part)
    else:
        terms = [(left, op.subtract(_real(1), part)), (op.add(left, _real(1)), part)]
    places = [_inside(place, axis) for place, _ in terms]
    return _Neighbours(places, [weight for _, weight in terms], outside)


def _place(rule: str, at: PrimExpr, axis: Axis) -> PrimExpr:
    if rule == "pytorch_half_pixel":
        rule = "half_pixel" if axis.new > 1 else ""
    # The rules are arithmetic, of arrays and of expressions.
    compute: Any = COORDINATES.get(rule)
    return compute(at, axis) if compute else _real(0)


def _inside(place: PrimExpr, axis: Axis) -> PrimExpr:
    nearest = clamped(place, _real(0), _real(axis.old - 1))
    return op.cast_to(nearest, "int32")


def _cubic(
    attrs: ResizeAttrs, axis: Axis, left: PrimExpr, part: PrimExpr
) -> list[tuple[PrimExpr, PrimExpr]]:
    """Return the places of neighbours, which may be outside, and their weights."""
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
    return found
