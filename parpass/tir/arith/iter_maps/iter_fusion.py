"""Sums of splits seen as one iterator: `i*20 + j*4 + k` of j below 5 and k below 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from parpass.ir.structure.structural import structural_digest
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.iter_maps.iter_map_expr import (
    IterMark,
    IterSplitExpr,
    IterSumExpr,
)
from parpass.tir.op import const, minimum
from parpass.tir.prim_expr import IntImm, PrimExpr


class _Chain(NamedTuple):
    """Splits, the outermost first, each of which begins where the next one ends.

    Attributes:
        flat: The splits, with scales from 1 on.
        grouped: The same, with an iterator in the place of those bounded together.
        extent: How many values their sum takes.
        scale: What the sum is to be multiplied by.
    """

    flat: Sequence[IterSplitExpr]
    grouped: Sequence[IterSplitExpr]
    extent: PrimExpr
    scale: PrimExpr

    @property
    def source(self) -> IterSumExpr:
        """Their sum."""
        return IterSumExpr(self.grouped, const(0, self.grouped[0].dtype))


class _Constraint(NamedTuple):
    """Splits whose sum is below a bound, the outermost first; `mark` is the sum."""

    splits: tuple[IterSplitExpr, ...]
    mark: IterMark


class IterFusion:
    """Fuses splits into iterators, and knows those that conditions bound.

    A sum is an iterator if the least scale times the extent of its split is the scale
    of the next one, and so on. The same splits make the same iterator always.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._marks: dict[bytes, IterMark] = {}  # by all splits that they consist of
        self._constraints: dict[bytes, _Constraint] = {}

    @property
    def constrained(self) -> list[IterMark]:
        """The iterators that conditions bound."""
        return [one.mark for one in self._constraints.values()]

    def constrain(self, splits: Sequence[IterSplitExpr], bound: PrimExpr) -> bool:
        """Learn that the sum of splits is below a bound, if that is one iterator."""
        chain = self._chain(splits)
        if chain is None or not _is_one(chain.scale):
            return False
        key = _key(chain.flat)
        known = self._marks.get(key) or IterMark(chain.source, chain.extent)
        mark = IterMark(known.source, minimum(bound, known.extent))
        self._marks[key] = mark
        self._constraints[key] = _Constraint(tuple(chain.flat), mark)
        return True

    def are_nested(self) -> bool:
        """Return whether constraints have their splits in common, or none of them."""
        sizes = sorted(self._constraints.values(), key=lambda one: len(one.splits))
        for index, small in enumerate(sizes):
            for large in sizes[index + 1 :]:
                found = [_is_among(one, large.splits) for one in small.splits]
                if any(found) and not all(found):
                    return False
        return True

    def fused(self, splits: Sequence[IterSplitExpr]) -> IterSplitExpr | None:
        """Return the sum of splits as one split of an iterator, if it is that."""
        if len(splits) == 1 and self._constraint_from(splits[0]) is None:
            return splits[0]
        chain = self._chain(splits)
        if chain is None:
            return None
        key = _key(chain.flat)
        if key not in self._marks:
            self._marks[key] = IterMark(chain.source, chain.extent)
        return IterSplitExpr.whole(self._marks[key], chain.scale)

    def _chain(self, splits: Sequence[IterSplitExpr]) -> _Chain | None:
        """Return splits, if each begins where the next one ends."""
        left = list(splits)
        first = _least_scale(left)
        if first is None:
            return None
        flat, grouped = list[IterSplitExpr](), list[IterSplitExpr]()
        extent = const(1, first.dtype)
        while left:
            here = left if flat else [first]
            start = self._with_scale(here, first.scale * extent)
            if start is None:
                return None
            constraint = self._constraint_from(start)
            if constraint is None:
                left.remove(start)
                flat.append(start.changed(scale=extent))
                grouped.append(flat[-1])
            else:
                matched = self._matched(constraint, left, first.scale * extent)
                if not matched:
                    return None
                flat += [one.changed(scale=one.scale * extent) for one in matched]
                grouped.append(IterSplitExpr.whole(constraint.mark, extent))
            extent = self._analyzer.simplify(extent * grouped[-1].extent)
        return _Chain(flat[::-1], grouped[::-1], extent, first.scale)

    def _with_scale(
        self, splits: Sequence[IterSplitExpr], scale: PrimExpr
    ) -> IterSplitExpr | None:
        for one in splits:
            if self._analyzer.can_prove_equal(one.scale, scale):
                return one
        return None

    def _constraint_from(self, split: IterSplitExpr) -> _Constraint | None:
        """Return the constraint of the most splits of which one is the innermost."""
        found = [
            one for one in self._constraints.values() if split.is_like(one.splits[-1])
        ]
        return max(found, key=lambda one: len(one.splits), default=None)

    def _matched(
        self, constraint: _Constraint, left: list[IterSplitExpr], scale: PrimExpr
    ) -> list[IterSplitExpr] | None:
        """Take the splits of a constraint out of those left, the innermost first.

        Returns:
            They as the constraint has them; None, if not all are there.
        """
        for wanted in reversed(constraint.splits):
            alike = [one for one in left if one.is_like(wanted)]
            found = self._with_scale(alike, wanted.scale * scale)
            if found is None:
                return None
            left.remove(found)
        return [*reversed(constraint.splits)]


def _least_scale(splits: Sequence[IterSplitExpr]) -> IterSplitExpr | None:
    """Return the split with the least constant scale, which is to be more than 0."""
    found = [one for one in splits if isinstance(one.scale, IntImm)]
    first = min(found, key=lambda one: one.scale.value, default=None)
    return first if first is not None and first.scale.value > 0 else None


def _is_among(split: IterSplitExpr, others: Sequence[IterSplitExpr]) -> bool:
    return any(split.is_like(other) for other in others)


def _is_one(expr: PrimExpr) -> bool:
    return isinstance(expr, IntImm) and expr.value == 1


def _key(splits: Sequence[IterSplitExpr]) -> bytes:
    """Return what is the same for the same splits alone."""
    parts: list[bytes] = []
    for split in splits:
        parts.append(id(split.source).to_bytes(8, "little"))
        parts += map(structural_digest, (split.lower_factor, split.extent, split.scale))
    return b"".join(parts)
