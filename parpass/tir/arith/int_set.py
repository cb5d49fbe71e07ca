"""Sets of ints under TVM's names, and what is done with them."""

from __future__ import annotations

import abc
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.region_bound import estimate_region_lower_bound
from parpass.tir.arith.sets.interval_set import (
    NEG_INF,
    NOTHING,
    POS_INF,
    IntervalSet,
    from_min_extent,
    greatest,
    least,
    single_point,
    union_of,
)
from parpass.tir.arith.sets.set_arithmetic import intersection
from parpass.tir.expr import Var
from parpass.tir.iteration import Range
from parpass.tir.op import add, const, subtract
from parpass.tir.prim_expr import PrimExpr, as_prim_expr

__all__ = [
    "IntSet",
    "IntervalSet",
    "estimate_region_lower_bound",
    "eval_set",
    "intersect",
    "neg_inf",
    "pos_inf",
    "union",
    "union_lower_bound",
]


class IntSet(abc.ABC):  # noqa: B024 -- what makes sets needs sets: it knows them
    """Any set of ints; all that there are here are `IntervalSet`s."""

    @staticmethod
    def single_point(point: Any) -> IntervalSet:
        """Return the set of one value."""
        return single_point(point)

    @staticmethod
    def vector(vec: PrimExpr) -> IntervalSet:
        """Return a set that has all lanes of a vector."""
        return Analyzer().int_set(vec)

    @staticmethod
    def from_min_extent(min_value: Any, extent: Any) -> IntervalSet:
        """Return so many ints from one on."""
        return from_min_extent(as_prim_expr(min_value), as_prim_expr(extent))

    @staticmethod
    def from_range(given: Range) -> IntervalSet:
        """Return the ints of a range."""
        return IntSet.from_min_extent(given.min, given.extent)


IntSet.register(IntervalSet)


def pos_inf() -> Var:
    """Return the end of sets that have no greatest int."""
    return POS_INF


def neg_inf() -> Var:
    """Return the end of sets that have no least int."""
    return NEG_INF


def eval_set(expr: Any, dom_map: Mapping[Var, IntervalSet]) -> IntervalSet:
    """Return what an expression, or one of a range, may be.

    Args:
        expr: The expression, or the `Range`.
        dom_map: The sets of variables; others are what they are.
    """
    analyzer = Analyzer()
    if not isinstance(expr, Range):
        return analyzer.int_set(expr, dom_map)
    # What both ends mention goes, before its set is put in its place.
    one = const(1, expr.extent.dtype)
    last = analyzer.simplify(subtract(add(expr.min, expr.extent), one))
    low, high = analyzer.int_set(expr.min, dom_map), analyzer.int_set(last, dom_map)
    return IntervalSet(low.min_value, high.max_value)


def union(sets: Sequence[IntervalSet]) -> IntervalSet:
    """Return the least interval that has all sets; nothing, if there are none."""
    if len(sets) == 1:
        return sets[0]
    return _simplified(functools.reduce(union_of, sets, NOTHING))


def intersect(sets: Sequence[IntervalSet]) -> IntervalSet:
    """Return what is in all sets; nothing, if there are none."""
    if len(sets) < 2:
        return sets[0] if sets else NOTHING
    analyzer = Analyzer()
    return _simplified(
        functools.reduce(functools.partial(intersection, analyzer), sets)
    )


def union_lower_bound(sets: Sequence[IntervalSet]) -> IntervalSet:
    """Return an interval all of which is in one of some sets.

    A set is dropped that cannot be shown to touch those before it.
    """
    analyzer = Analyzer()
    found = sets[0] if sets else NOTHING
    for one in sets[1:]:
        if _reaches(analyzer, found, one) and _reaches(analyzer, one, found):
            found = IntervalSet(
                least(found.min_value, one.min_value),
                greatest(found.max_value, one.max_value),
            )
    return found


def _reaches(analyzer: Analyzer, a: IntervalSet, b: IntervalSet) -> bool:
    """Return whether a set begins at latest behind the last int of another one."""
    if a.min_value is NEG_INF or b.max_value is POS_INF:
        return True
    gap = subtract(add(b.max_value, const(1, b.max_value.dtype)), a.min_value)
    return analyzer.can_prove_greater_equal(gap, 0)


def _simplified(found: IntervalSet) -> IntervalSet:
    if found.is_nothing():
        return NOTHING
    analyzer = Analyzer()
    ends = [
        end if end is NEG_INF or end is POS_INF else analyzer.simplify(end)
        for end in (found.min_value, found.max_value)
    ]
    return IntervalSet(*ends)
