"""Lowering rules of reductions along axes, and of cumulative sums and products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from parpass.relay.backend.lowering.extremes import highest, lowest
from parpass.relay.backend.lowering.index_maps import broadcast_at, flat, unflat
from parpass.relay.backend.lowering.loops import (
    accumulated_together,
    allocated,
    nest,
    quotient,
    scratch,
    zero,
)
from parpass.relay.backend.lowering.reduction_loops import Join, reductions
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    Store,
    register_template,
)
from parpass.relay.backend.lowering.templates.flat_loops import in_memory
from parpass.relay.op.declaration.type_relations import normal_axis
from parpass.relay.op.reduce import (
    ArgReduceAttrs,
    ReduceAttrs,
    VarianceAttrs,
    reduced_axes,
)
from parpass.relay.op.transform.scan import ScanopAttrs
from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.expr import BufferLoad, PrimExpr, Select
from parpass.tir.stmt import BufferStore, Stmt, stmt_seq


class _Rows:
    """The elements that are reduced to each element of the result."""

    def __init__(self, call: OpCall[ReduceAttrs]) -> None:
        self._data = data = call.sources[0]
        self._axes = reduced_axes(call.attrs, len(data.shape))
        self._keepdims = call.attrs.keepdims
        self.shape = [data.shape[axis] for axis in self._axes]

    @property
    def count(self) -> int:
        """How many elements each has."""
        return math.prod(self.shape)

    def at(self, indices: Indices, k: Indices) -> list[PrimExpr]:
        """Return where an element of the row is that is reduced to one at indices."""
        inner, outer = dict(zip(self._axes, k, strict=True)), iter(indices)
        found: list[PrimExpr] = []
        for axis in range(len(self._data.shape)):
            if axis not in inner or self._keepdims:
                index = next(outer)
                found.append(inner.get(axis, index))
            else:
                found.append(inner[axis])
        return found

    def element(self, indices: Indices, k: Indices) -> PrimExpr:
        """Return that element of the row."""
        return self._data.at(self.at(indices, k))


def _register(
    name: str,
    start: Callable[[str], PrimExpr],
    join: Join,
    of_bools: tuple[PrimExpr, Join] | None = None,
) -> None:
    @register_template(name)
    def template(call: OpCall[ReduceAttrs], store: Store) -> Stmt:
        out, rows = call.out, _Rows(call)
        how = start(out.dtype), join
        if of_bools and out.dtype == "bool":
            how = of_bools
        return reductions(out, rows.shape, rows.element, store, call.target, *how)


_FALSE, _TRUE = op.const(False), op.const(True)
_register("sum", zero, op.add)
_register("prod", lambda dtype: op.const(1, dtype), op.multiply)
_register("max", lowest, op.maximum, (_FALSE, op.logical_or))
_register("min", highest, op.minimum, (_TRUE, op.logical_and))
_register("all", lambda _: _TRUE, op.logical_and)
_register("any", lambda _: _FALSE, op.logical_or)


@register_template("mean")
def _mean(call: OpCall[ReduceAttrs], store: Store) -> Stmt:
    out, rows = call.out, _Rows(call)
    kind = data_type(out.dtype)
    wide = out.dtype
    if kind.is_integral:
        if not 0 < rows.count < 2**31:
            raise NoRuleError(f"the mean of {rows.count} values of {out.dtype}")
        if kind.bits > 32:
            return _mean_of_wide_ints(call, store)
        wide = "int64"  # which has the sum of all

    def element(at: Indices, k: Indices) -> PrimExpr:
        return op.cast_to(rows.element(at, k), wide)

    def divided(at: Indices, total: PrimExpr) -> Stmt:
        return store(at, op.cast_to(quotient(total, rows.count), out.dtype))

    sums = out._replace(dtype=wide)
    return reductions(sums, rows.shape, element, divided, call.target)


def _mean_of_wide_ints(call: OpCall[ReduceAttrs], store: Store) -> Stmt:
    """Return loops for means of ints whose sum may overflow: of quotients and rests."""
    out, rows = call.out, _Rows(call)
    nothing, count = zero(out.dtype), op.const(rows.count, out.dtype)

    def element(at: Indices) -> Stmt:
        def more(known: list[PrimExpr], k: Indices) -> list[PrimExpr]:
            value = rows.element(at, k)
            parts = op.floordiv(value, count), op.floormod(value, count)
            return [op.add(*both) for both in zip(known, parts, strict=True)]

        def joined(found: list[PrimExpr]) -> Stmt:
            wholes, rests = found
            down = op.add(wholes, op.floordiv(rests, count))
            left = op.not_equal(op.floormod(rests, count), nothing)
            is_below = op.logical_and(down < nothing, left)
            # Towards zero, not down.
            return store(at, op.add(down, op.cast_to(is_below, out.dtype)))

        return accumulated_together([nothing, nothing], rows.shape, more, joined)

    return nest(out.shape, element)


@register_template("variance")
def _variance(call: OpCall[VarianceAttrs], store: Store) -> Stmt:
    data, around = call.sources
    rows = _Rows(call)
    count = rows.count - int(call.attrs.unbiased)

    def square(at: Indices, k: Indices) -> PrimExpr:
        place = rows.at(at, k)
        off = op.subtract(data.at(place), broadcast_at(around, place))
        return op.multiply(off, off)

    def divided(at: Indices, total: PrimExpr) -> Stmt:
        return store(at, quotient(total, count))

    return reductions(call.out, rows.shape, square, divided, call.target)


def _register_arg(name: str, start: Callable[[str], PrimExpr], join: Join) -> None:
    """Register the template of an operator that returns the place of an extreme.

    Args:
        name: The operator.
        start: Returns the neutral element of `join`.
        join: Returns the better of two; NaN if one is.
    """

    @register_template(name)
    def template(call: OpCall[ArgReduceAttrs], store: Store) -> Stmt:
        if not _Rows(call).count:
            raise NoRuleError("where the largest of no elements is")
        return in_memory(call, lambda new: _places_of(new, store, start, join))


def _places_of(
    call: OpCall[ArgReduceAttrs],
    store: Store,
    start: Callable[[str], PrimExpr],
    join: Join,
) -> Stmt:
    """Return loops for the extremes, and those for the first or last place of each."""
    (data,), out, rows = call.sources, call.out, _Rows(call)
    is_last = call.attrs.select_last_index
    extremes = scratch(out.shape, data.dtype, "extremes")
    places = scratch(rows.shape, "int32", "places")  # in memory, to be read in vectors
    none = op.const(-1 if is_last else rows.count, "int32")

    def keep(at: Indices, value: PrimExpr) -> Stmt:
        return BufferStore(extremes, value, at)

    def place(at: Indices, k: Indices) -> PrimExpr:
        is_one = _is_same(rows.element(at, k), BufferLoad(extremes, at))
        return Select(is_one, BufferLoad(places, k), none)

    def number(k: Indices) -> Stmt:
        return BufferStore(places, op.cast_to(flat(k, rows.shape), "int32"), k)

    of_extremes, of_places = (out._replace(dtype=one) for one in (data.dtype, "int32"))
    least = start(data.dtype)
    pick = op.maximum if is_last else op.minimum
    over, target = rows.shape, call.target
    stmt = stmt_seq(
        nest(rows.shape, number, "k"),
        reductions(of_extremes, over, rows.element, keep, target, least, join),
        reductions(of_places, over, place, store, target, none, pick),
    )
    return allocated(places, allocated(extremes, stmt))


def _is_same(value: PrimExpr, extreme: PrimExpr) -> PrimExpr:
    """Return whether a value is the extreme; NaN is one."""
    is_equal = op.equal(value, extreme)
    if not data_type(value.dtype).is_floating:
        return is_equal
    are_none = op.logical_and(
        op.not_equal(value, value), op.not_equal(extreme, extreme)
    )
    return op.logical_or(is_equal, are_none)


_register_arg("argmax", lowest, op.maximum)
_register_arg("argmin", highest, op.minimum)


def _register_scan(name: str, first: int, step: Callable[[Any, Any], PrimExpr]) -> None:
    @register_template(name)
    def template(call: OpCall[ScanopAttrs], store: Store) -> Stmt:
        attrs, out = call.attrs, call.out
        (data,) = call.sources
        axis = 0 if attrs.axis is None else normal_axis(attrs.axis, len(out.shape))
        outer = [1 if at == axis else dim for at, dim in enumerate(out.shape)]

        def row(which: Indices) -> Stmt:
            known = scratch((1,), out.dtype, "sofar")
            so_far = BufferLoad(known, [0])

            def one(k: Indices) -> Stmt:
                place = [*which[:axis], k[0], *which[axis + 1 :]]
                old = unflat(k[0], data.shape) if attrs.axis is None else place
                more = op.cast_to(data.at(old), out.dtype)
                joined = BufferStore(known, step(so_far, more), [0])
                stored = store(place, so_far)
                parts = (stored, joined) if attrs.exclusive else (joined, stored)
                return stmt_seq(*parts)

            begin = BufferStore(known, op.const(first, out.dtype), [0])
            steps = nest((out.shape[axis],), one, "k")
            return allocated(known, stmt_seq(begin, steps))

        return nest(outer, row)


_register_scan("cumsum", 0, op.add)
_register_scan("cumprod", 1, op.multiply)
