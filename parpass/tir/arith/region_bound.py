"""Regions all of which are touched, where variables go through ranges.

An index is taken apart into digits of the variables: `x % upper // lower`, which is
what splitting loops leaves. If the digits of all indices are different ones, and those
of an index fit together without gaps, then every element of a box is reached.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from parpass.ir.node import Node, post_order
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.canonical_simplify import CanonicalSimplifier
from parpass.tir.arith.conjunction import conjuncts
from parpass.tir.arith.interval import Interval
from parpass.tir.arith.knowledge import Known
from parpass.tir.arith.sets.interval_set import IntervalSet, from_min_extent
from parpass.tir.arith.sums.split_sum import Split, Sum
from parpass.tir.binary_op import GE, GT, LE, LT
from parpass.tir.expr import Var
from parpass.tir.iteration import Range
from parpass.tir.op import add, const, greater_equal, subtract
from parpass.tir.prim_expr import IntImm, PrimExpr, as_prim_expr


def estimate_region_lower_bound(
    region: Sequence[Range], var_dom: Mapping[Var, Range], predicate: Any
) -> list[IntervalSet] | None:
    """Return a box all of which is touched, where variables go through ranges.

    Args:
        region: What is touched for each of the variables' values: a range of indices
            for each dimension.
        var_dom: The ranges of the variables, which are constant.
        predicate: What holds of the values that variables have at the same time:
            comparisons with constants, joined by `and`.

    Returns:
        A set of indices for each dimension, or None if no box is found.
    """
    walk = _Walk.over(var_dom)
    if walk is None:
        return None
    axes = [walk.axis(one.min) for one in region]
    known = [axis for axis in axes if axis is not None]
    if len(known) < len(axes) or not walk.are_independent(known):
        return None
    limits = walk.limits(as_prim_expr(predicate), known)
    if limits is None:
        return None
    found: list[IntervalSet] = []
    for one, axis, limit in zip(region, known, limits, strict=True):
        touched = walk.touched(one, axis, limit)
        if touched is None:
            return None
        found.append(touched)
    return found


class _Axis(NamedTuple):
    """What an index is: `base + stride * n`, for each n of a range from 0 on.

    Attributes:
        base: What does not change.
        stride: Positive.
        digits: The digits that n is made of, the lowest one first.
    """

    base: Sum
    stride: int
    digits: tuple[_Digit, ...]

    @property
    def extent(self) -> int:
        """How many values n has."""
        return math.prod([digit.extent for digit in self.digits])


class _Digit(NamedTuple):
    """A digit of a variable.

    Attributes:
        split: The digit.
        extent: How many values it has.
        first: The least.
        scale: By how much the index grows with it; negative if it gets less.
    """

    split: Split
    extent: int
    first: int
    scale: int


class _Walk:
    """Variables, and the constants that their ranges are."""

    def __init__(self, ranges: Mapping[Node, range]) -> None:
        self._ranges = ranges
        known = Known()
        for var, values in ranges.items():
            ends = Interval(values.start, values.stop - 1)
            known.facts.variables[var] = ends  # pyright: ignore[reportArgumentType]
        self._table = known.table
        self._simplifier = CanonicalSimplifier(known)

    @staticmethod
    def over(var_dom: Mapping[Var, Range]) -> _Walk | None:
        """Return the walk over ranges, if they are constant and not empty."""
        ranges: dict[Node, range] = {}
        for var, dom in var_dom.items():
            first, count = dom.min, dom.extent
            if not isinstance(first, IntImm) or not isinstance(count, IntImm):
                return None
            if count.value <= 0:
                return None
            ranges[var] = range(first.value, first.value + count.value)
        return _Walk(ranges)

    def _changes(self, expr: Node) -> bool:
        return not self._ranges.keys().isdisjoint(post_order(expr))

    def axis(self, index: PrimExpr) -> _Axis | None:
        """Return what an index is, if its digits fit together."""
        form = self._simplifier.sum_of(self._table.first(index))
        digits = self._digits(form)
        if digits is None:
            return None
        base = form.base
        for one in digits:
            base += one.scale * (one.first + (one.extent - 1) * (one.scale < 0))
        moving = sorted([one for one in digits if one.extent > 1], key=_size_of_step)
        stride = expected = abs(moving[0].scale) if moving else 1
        for one in moving:
            if abs(one.scale) != expected:
                return None
            expected *= one.extent
        changing = {one.split for one in digits}
        scales = {s: by for s, by in form.scales.items() if s not in changing}
        return _Axis(Sum(scales, base), stride, tuple(moving))

    def _digits(self, form: Sum) -> list[_Digit] | None:
        """Return the digits in a sum; None if something else in it changes."""
        found: list[_Digit] = []
        for split, scale in form.scales.items():
            if self._changes(split.expr):
                extent = self._extent(split)
                if extent is None:
                    return None
                first = self._ranges[split.expr].start if split.is_plain else 0
                found.append(_Digit(split, extent, first, scale))
        return found

    def _extent(self, split: Split) -> int | None:
        """Return how many values a digit of a variable has."""
        values = self._ranges.get(split.expr)
        if values is None:
            return None
        if split.is_plain:
            return len(values)
        if values.start != 0 or split.upper % split.lower:
            return None
        if not split.upper:
            return -(-len(values) // split.lower)
        return split.upper // split.lower if len(values) >= split.upper else None

    def are_independent(self, axes: Iterable[_Axis]) -> bool:
        """Return whether digits take all their values with all those of others."""
        splits: dict[Node, list[Split]] = {}
        for axis in axes:
            for one in axis.digits:
                splits.setdefault(one.split.expr, []).append(one.split)
        return all(self._are_apart(var, found) for var, found in splits.items())

    def _are_apart(self, var: Node, splits: list[Split]) -> bool:
        if len(splits) == 1:
            return True
        size, below = len(self._ranges[var]), 1
        for split in sorted(splits, key=_lower):
            if not below or split.lower % below or size % (split.upper or split.lower):
                return False
            below = split.upper  # 0 if all above is of this digit
        return True

    def limits(self, predicate: PrimExpr, axes: list[_Axis]) -> list[range] | None:
        """Return for which n of the axes a predicate holds, if it says that alone."""
        found = [range(axis.extent) for axis in axes]
        for condition in conjuncts(predicate):
            limit = self._limit(condition, axes)
            if limit is None:
                return None
            at, low, high = limit
            if at is not None:
                values = found[at]
                found[at] = range(max(values.start, low), min(values.stop, high + 1))
        return found if all(found) else None

    def _limit(
        self, condition: PrimExpr, axes: list[_Axis]
    ) -> tuple[int | None, int, int] | None:
        """Return an axis and the least and greatest n of it for which it holds."""
        if isinstance(condition, IntImm):
            return (None, 0, 0) if condition.value else None
        if not isinstance(condition, LT | LE | GT | GE):
            return None
        low, high = condition.a, condition.b
        if isinstance(condition, GT | GE):
            low, high = high, low
        gap = subtract(high, low)
        form = self._simplifier.sum_of(self._table.first(gap))
        digits = self._digits(form)
        if digits is None or len(digits) < len(form.scales) or not digits:
            return None
        base = form.base - isinstance(condition, LT | GT)
        base += sum(one.scale * one.first for one in digits)
        for at, axis in enumerate(axes):
            by = _multiple(form, axis)
            if by is not None and by < 0:
                return at, 0, base // -by
            if by is not None:
                return at, -(base // by), axis.extent
        return None

    def touched(self, one: Range, axis: _Axis, limit: range) -> IntervalSet | None:
        """Return what a range of indices touches, where n is limited."""
        if self._changes(one.extent):
            return None
        dtype, stride = one.min.dtype, axis.stride
        reaches = greater_equal(one.extent, const(stride, one.extent.dtype))
        if len(limit) > 1 and not Analyzer().can_prove(reaches):
            return None
        base = axis.base._replace(base=axis.base.base + stride * limit.start)
        further = const(stride * (len(limit) - 1), one.extent.dtype)
        first = self._simplifier.expr_of(base, dtype)
        return from_min_extent(first, add(one.extent, further))


def _multiple(form: Sum, axis: _Axis) -> int | None:
    """Return how much a sum grows with the n of an axis, if it does with it alone."""
    if {one.split for one in axis.digits} != form.scales.keys():
        return None
    steps = {
        divmod(form.scales[one.split] * axis.stride, one.scale) for one in axis.digits
    }
    if len(steps) != 1 or any(one.scale < 0 for one in axis.digits):
        return None
    ((times, rest),) = steps
    return None if rest else times


def _size_of_step(digit: _Digit) -> int:
    return abs(digit.scale)


def _lower(split: Split) -> int:
    return split.lower
