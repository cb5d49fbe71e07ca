"""Sets of ints under TVM's names, and what is done with them."""

from __future__ import annotations

import abc
import functools
from collections.abc import Sequence
from typing import Any

from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.interval_set import (
    NEG_INF,
    NOTHING,
    POS_INF,
    IntervalSet,
    from_min_extent,
    intersection,
    single_point,
)
from parpass.tir.expr import Var
from parpass.tir.iteration import Range
from parpass.tir.prim_expr import PrimExpr, as_prim_expr

__all__ = [
    "IntSet",
    "IntervalSet",
    "intersect",
    "neg_inf",
    "pos_inf",
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


def intersect(sets: Sequence[IntervalSet]) -> IntervalSet:
    """Return what is in all sets; nothing, if there are none."""
    if len(sets) < 2:
        return sets[0] if sets else NOTHING
    analyzer = Analyzer()
    return _simplified(
        functools.reduce(functools.partial(intersection, analyzer), sets)
    )


def _simplified(found: IntervalSet) -> IntervalSet:
    if found.is_nothing():
        return NOTHING
    analyzer = Analyzer()
    ends = [
        end if end is NEG_INF or end is POS_INF else analyzer.simplify(end)
        for end in (found.min_value, found.max_value)
    ]
    return IntervalSet(*ends)
