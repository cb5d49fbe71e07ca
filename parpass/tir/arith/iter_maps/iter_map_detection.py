"""Whether indices are iterators by themselves, made of given ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parpass.ir.node import post_order
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.conjunction import conjuncts
from parpass.tir.arith.iter_maps.iter_map_expr import (
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    Marks,
)
from parpass.tir.arith.iter_maps.iter_map_rewriter import (
    IterMapRewriter,
    NotAffineError,
    divides,
)
from parpass.tir.binary_op import GT, LT
from parpass.tir.expr import Var
from parpass.tir.iteration import Range
from parpass.tir.op import const
from parpass.tir.prim_expr import IntImm, PrimExpr, as_prim_expr


def detect_iter_map(
    indices: Sequence[Any],
    input_iters: Mapping[Var, Range],
    predicate: Any = True,
    require_bijective: bool = False,
) -> list[IterSumExpr]:
    """Write indices as iterators that are made of others by splitting and fusing.

    The indices take each combination of values within their extents, where iterators
    do, and no other one.

    Args:
        indices: The expressions.
        input_iters: What each iterator is within; the ranges mention no iterator.
        predicate: Comparisons `expr < bound`, all of which hold.
        require_bijective: Whether each combination is to be taken once.

    Returns:
        For each index a base and at most one split of an iterator; an empty list if
        they are not seen to be such.
    """
    ranges = {*input_iters}
    ends = [end for one in input_iters.values() for end in (one.min, one.extent)]
    bounds = _upper_bounds(as_prim_expr(predicate))
    if bounds is None or any(_mentions(one, ranges) for one in ends):
        return []
    if any(_mentions(bound, ranges) for _, bound in bounds):
        return []
    analyzer = Analyzer()
    rewriter = IterMapRewriter(analyzer, input_iters)
    try:
        # What is part of another sum comes before it.
        for expr, bound in sorted(bounds, key=lambda one: len(post_order(one[0]))):
            rewriter.constrain(expr, bound)
        if not rewriter.fusion.are_nested():
            return []
        found = [rewriter.rewrite(as_prim_expr(one)) for one in indices]
    except NotAffineError:
        return []
    marks = Marks.of(found)
    is_one = _is_each_tiled(marks, analyzer, is_bijective=require_bijective)
    if not is_one or not _are_kept(rewriter.fusion.constrained, marks):
        return []
    if require_bijective and any(
        one not in marks.splits for one in rewriter.input_marks
    ):
        return []
    return found


def _mentions(expr: PrimExpr, variables: set[Var]) -> bool:
    return not variables.isdisjoint(post_order(expr))


def _upper_bounds(predicate: PrimExpr) -> list[tuple[PrimExpr, PrimExpr]] | None:
    """Return what is below what; None, if a predicate says anything else."""
    if isinstance(predicate, IntImm):
        return [] if predicate.value else None
    found: list[tuple[PrimExpr, PrimExpr]] = []
    for one in conjuncts(predicate):
        if not isinstance(one, LT | GT):
            return None
        found.append((one.a, one.b) if isinstance(one, LT) else (one.b, one.a))
    return found


def _are_kept(constrained: Sequence[IterMark], marks: Marks) -> bool:
    """Return whether no iterator is used but within what a condition says of it."""
    for mark in constrained:
        within = Marks.of([mark.source]).splits
        if mark not in marks.splits and not marks.splits.keys().isdisjoint(within):
            return False
    return True


def _is_each_tiled(marks: Marks, analyzer: Analyzer, *, is_bijective: bool) -> bool:
    return all(
        _is_tiled(mark, splits, analyzer, is_bijective=is_bijective)
        for mark, splits in marks.splits.items()
    )


def _is_tiled(
    mark: IterMark,
    splits: Sequence[IterSplitExpr],
    analyzer: Analyzer,
    *,
    is_bijective: bool,
) -> bool:
    """Return whether the splits of an iterator are independent of each other.

    Each begins where another one ends, or further out, if not all of the iterator need
    be used.
    """
    left, reached = list(splits), const(1, mark.source.dtype)
    while left:
        found = _beginning_at(reached, left, analyzer)
        if found is None and not is_bijective:
            found = _nearest(reached, left, analyzer)
        if found is None:
            return False
        left.remove(found)
        reached = found.lower_factor * found.extent
    if is_bijective:
        return analyzer.can_prove_equal(reached, mark.extent)
    return divides(analyzer, reached, mark.extent)


def _beginning_at(
    factor: PrimExpr, splits: Sequence[IterSplitExpr], analyzer: Analyzer
) -> IterSplitExpr | None:
    for one in splits:
        if analyzer.can_prove_equal(one.lower_factor, factor):
            return one
    return None


def _nearest(
    factor: PrimExpr, splits: Sequence[IterSplitExpr], analyzer: Analyzer
) -> IterSplitExpr | None:
    """Return the innermost split, if all begin at multiples of what is reached."""
    if not all(divides(analyzer, factor, one.lower_factor) for one in splits):
        return None
    nearest = splits[0]
    for one in splits[1:]:
        if divides(analyzer, one.lower_factor, nearest.lower_factor):
            nearest = one
    return nearest
