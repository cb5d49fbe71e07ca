"""Pooling of signals, images and volumes, in any layout."""

from __future__ import annotations

import math
from typing import Any

from parpass.relay.backend.lowering.extremes import lowest
from parpass.relay.backend.lowering.index_maps import (
    WindowElement,
    axis_lengths,
    axis_values,
    layout_indices,
    window_element,
)
from parpass.relay.backend.lowering.loops import (
    accumulated_together,
    nest,
    zero,
)
from parpass.relay.backend.lowering.reduction_loops import Join, accumulated, reductions
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    Store,
    register_template,
)
from parpass.relay.op.declaration.layout import SPATIAL
from parpass.relay.op.nn.pool import PoolAttrs
from parpass.tir import op
from parpass.tir.expr import PrimExpr
from parpass.tir.stmt import Stmt


class _Windows:
    """The windows of a pooling, and their elements."""

    def __init__(self, call: OpCall[PoolAttrs]) -> None:
        attrs, (data,) = call.attrs, call.sources
        self._attrs = attrs
        self._data = data
        self._layout = attrs.out_layout or attrs.layout
        self._spatial = SPATIAL[len(attrs.strides)]
        canonical = f"NC{self._spatial}"
        self._image = axis_lengths(data.shape, attrs.layout, canonical)
        self._counts = axis_lengths(call.out.shape, self._layout, canonical)

    def at(self, indices: Indices, k: Indices) -> tuple[PrimExpr, WindowElement]:
        """Return an element of a window, and where it is."""
        at = axis_values(indices, self._layout)
        window = window_element(
            self._attrs,
            [at[axis] for axis in self._spatial],
            k,
            self._image[2:],
            self._counts[2:],
            self._attrs.pool_size,
        )
        at.update(zip(self._spatial, window.places, strict=True))
        return self._data.at(layout_indices(at, self._attrs.layout)), window


@register_template(*(f"nn.max_pool{rank}d" for rank in (1, 2, 3)))
def _max_pool(call: OpCall[PoolAttrs], store: Store) -> Stmt:
    windows, start = _Windows(call), lowest(call.out.dtype)

    def element(indices: Indices, k: Indices) -> PrimExpr:
        value, place = windows.at(indices, k)
        return place.if_inside(value, start)

    how = call.target, start, op.maximum
    return reductions(call.out, call.attrs.pool_size, element, store, *how)


@register_template(*(f"nn.avg_pool{rank}d" for rank in (1, 2, 3)))
def _avg_pool(call: OpCall[Any], store: Store) -> Stmt:
    attrs, out = call.attrs, call.out
    windows = _Windows(call)
    nothing, one = zero(out.dtype), op.const(1, out.dtype)
    size = op.const(math.prod(attrs.pool_size), out.dtype)

    def seen(indices: Indices, k: Indices) -> PrimExpr:
        value, place = windows.at(indices, k)
        return place.if_inside(value, nothing)

    def mean(indices: Indices, total: PrimExpr) -> Stmt:
        return store(indices, op.div(total, size))

    def counted(indices: Indices) -> Stmt:
        def more(known: list[PrimExpr], k: Indices) -> list[PrimExpr]:
            inside = op.all(*windows.at(indices, k)[1].conditions)
            number = op.add(known[1], op.cast_to(inside, out.dtype))
            return [op.add(known[0], seen(indices, k)), number]

        def done(found: list[PrimExpr]) -> Stmt:
            return store(indices, op.div(found[0], op.maximum(found[1], one)))

        starts = [nothing, nothing]
        return accumulated_together(starts, attrs.pool_size, more, done)

    origin = op.const(0, "int32")
    _, first = windows.at([origin] * len(out.shape), [origin] * len(attrs.pool_size))
    if first.conditions and not attrs.count_include_pad:
        return nest(out.shape, counted)
    return reductions(out, attrs.pool_size, seen, mean, call.target)


def _pooled_whole(
    call: OpCall[Any],
    store: Store,
    rank: int,
    start: PrimExpr,
    join: Join,
    finish: Join,
) -> Stmt:
    """Return loops over windows that share an image among them.

    Args:
        call: The call; its operand is the images.
        store: Takes the results.
        rank: How many axes an image has.
        start: What there is before a window's first element.
        join: The operator that joins elements.
        finish: Returns the result, of what there is and how many elements there were.
    """
    attrs = call.attrs
    (data,), spatial = call.sources, SPATIAL[rank]
    layout = attrs.out_layout or attrs.layout
    image = axis_lengths(data.shape, attrs.layout, f"NC{spatial}")[2:]
    counts = axis_lengths(call.out.shape, layout, f"NC{spatial}")[2:]
    if 0 in image:
        raise NoRuleError("a window of no elements")

    def element(indices: Indices) -> Stmt:
        at = axis_values(indices, layout)
        begins: list[PrimExpr] = []
        lengths: list[PrimExpr] = []
        for axis, length, count in zip(spatial, image, counts, strict=True):
            begin = op.floordiv(at[axis] * length, count)
            end = op.floordiv((at[axis] + 1) * length + (count - 1), count)
            begins.append(begin)
            lengths.append(
                op.const(length, "int32") if count == 1 else op.subtract(end, begin)
            )

        def inside(k: Indices) -> PrimExpr:
            places = dict(zip(spatial, map(op.add, begins, k), strict=True))
            return data.at(layout_indices({**at, **places}, attrs.layout))

        def done(found: PrimExpr) -> Stmt:
            count = lengths[0]
            for one in lengths[1:]:
                count = op.multiply(count, one)
            return store(indices, finish(found, op.cast_to(count, call.out.dtype)))

        return accumulated(start, lengths, inside, done, call.target, join)

    return nest(call.out.shape, element)


def _register_whole(name: str, rank: int, is_max: bool) -> None:
    @register_template(name)
    def template(call: OpCall[Any], store: Store) -> Stmt:
        start = lowest(call.out.dtype) if is_max else zero(call.out.dtype)
        join, finish = (op.maximum, _without_count) if is_max else (op.add, op.div)
        return _pooled_whole(call, store, rank, start, join, finish)


def _without_count(found: PrimExpr, _count: PrimExpr) -> PrimExpr:
    return found


for _rank in (1, 2, 3):
    for _kind in ("max", "avg"):
        _register_whole(f"nn.adaptive_{_kind}_pool{_rank}d", _rank, _kind == "max")
for _kind in ("max", "avg"):
    _register_whole(f"nn.global_{_kind}_pool2d", 2, _kind == "max")
