"""Indices divided into what some of the iterators make, and what the others make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.iter_maps.iter_map_detection import detect_iter_map
from parpass.tir.arith.iter_maps.iter_map_expr import (
    IterMapExpr,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    Marks,
)
from parpass.tir.arith.iter_maps.iter_map_rewriter import NotAffineError
from parpass.tir.arith.iter_maps.iter_map_values import normalize_iter_map_to_expr
from parpass.tir.binary_op import Sub
from parpass.tir.expr import Var
from parpass.tir.iteration import Range
from parpass.tir.op import const, floordiv, logical_and
from parpass.tir.prim_expr import IntImm, PrimExpr


def subspace_divide(
    bindings: Sequence[Any],
    input_iters: Mapping[Var, Range],
    sub_iters: Sequence[Var],
    predicate: Any = True,
    require_bijective: bool = False,
) -> list[list[IterMark]]:
    """Write each index as `outer * extent + inner`.

    For example, `z*12 + y*3 + x` of y below 4 and x below 3 is `(z*4 + y)*3 + x`, where
    x is what the subspace iterates over.

    Args:
        bindings: The indices.
        input_iters: What each iterator is within.
        sub_iters: The iterators that `inner` is made of; `outer` is of the others.
        predicate: Comparisons `expr < bound`, all of which hold.
        require_bijective: Whether each combination of values is to be taken once.

    Returns:
        For each index the iterators `outer` and `inner`, with their extents; then two
        whose extents are the conditions that hold of the one space, and of the other.
        An empty list, if the indices are not seen to be such.
    """
    found = detect_iter_map(bindings, input_iters, predicate, require_bijective)
    divider = _SubspaceDivider(found, {*sub_iters})
    try:
        pairs = [divider.divided_index(one) for one in found]
    except NotAffineError:
        return []
    if not pairs:
        return []
    last = (IterMark(IterSumExpr([], 0), one) for one in divider.predicates)
    return [*([one.outer_mark, one.inner_mark] for one in pairs), [*last]]


class _Division(NamedTuple):
    """`outer * inner_extent + inner`."""

    outer: IterMapExpr
    outer_extent: PrimExpr
    inner: IterMapExpr
    inner_extent: PrimExpr

    @property
    def is_inner(self) -> bool:
        return _is_one(self.outer_extent)

    @property
    def is_outer(self) -> bool:
        return _is_one(self.inner_extent)

    @property
    def outer_mark(self) -> IterMark:
        return IterMark(self.outer, self.outer_extent)

    @property
    def inner_mark(self) -> IterMark:
        return IterMark(self.inner, self.inner_extent)


def _of_one(iterator: IterMapExpr, extent: PrimExpr, *, is_inner: bool) -> _Division:
    """Return what is all in one of the spaces, and has one value in the other."""
    nothing, one = IterSumExpr([], const(0, iterator.dtype)), const(1, iterator.dtype)
    if is_inner:
        return _Division(nothing, one, iterator, extent)
    return _Division(iterator, extent, nothing, one)


class _SubspaceDivider:
    """Divides the splits of each mark, from those of the iterators on.

    Attributes:
        predicates: The conditions that hold of the outer iterators, and of the inner.
    """

    def __init__(
        self, maps: Sequence[IterSumExpr], sub_iters: AbstractSet[Var]
    ) -> None:
        self._analyzer = Analyzer()
        self._sub_iters = sub_iters
        self._divided: dict[IterSplitExpr, _Division] = {}
        self._marks = Marks.of(maps).splits
        self._is_done = False
        self.predicates: list[PrimExpr] = [const(1, "bool"), const(1, "bool")]

    def divided_index(self, index: IterSumExpr) -> _Division:
        """Return an index of at most one split, divided.

        Raises:
            NotAffineError: It cannot be.
        """
        if not self._is_done:
            for mark, splits in self._marks.items():
                self._divide(mark, splits)
            self._is_done = True
        if not index.args:
            return _of_one(index, const(1, index.dtype), is_inner=True)
        return self._one_arg(index)

    def _divide(self, mark: IterMark, splits: Sequence[IterSplitExpr]) -> None:
        source = mark.source
        if isinstance(source, IterSumExpr):
            self._divide_fused(mark, self._sum(source, mark.extent), splits)
            return
        var = source.a if isinstance(source, Sub) else source
        for split in splits:
            is_inner = var in self._sub_iters
            self._divided[split] = _of_one(split, split.extent, is_inner=is_inner)

    def _one_arg(self, found: IterSumExpr) -> _Division:
        [arg] = found.args
        division = self._divided[arg]
        if not _is_one(arg.scale):
            raise NotAffineError
        inner = division.inner
        args = inner.args if isinstance(inner, IterSumExpr) else [inner]
        base = inner.base if isinstance(inner, IterSumExpr) else const(0, inner.dtype)
        is_0 = isinstance(found.base, IntImm) and not found.base.value
        moved = inner if is_0 else IterSumExpr(args, base + found.base)
        return division._replace(inner=moved)

    def _sum(self, found: IterSumExpr, extent: PrimExpr) -> _Division:
        """Divide what a mark is made of: outer splits, and then inner ones."""
        if len(found.args) == 1:
            return self._one_arg(found)
        outer, inner = list[IterSplitExpr](), list[IterSplitExpr]()
        for arg in reversed(found.args):
            division = self._divided[arg]
            if division.is_inner and not outer:
                inner.append(_as_split(division.inner, division.inner_extent))
            elif division.is_outer:
                outer.append(_as_split(division.outer, division.outer_extent))
            else:
                raise NotAffineError
        of_outer = _fused(outer, const(0, found.dtype))
        of_inner = _fused(inner, found.base)
        whole = of_outer.extent * of_inner.extent
        if self._analyzer.can_prove_equal(whole, extent):
            return _Division(
                of_outer.source, of_outer.extent, of_inner.source, of_inner.extent
            )
        # A condition holds of the sum: of all of it, so that is in one of the spaces.
        if inner and outer:
            raise NotAffineError
        source = of_inner.source if inner else of_outer.source
        at = 1 if inner else 0
        condition = normalize_iter_map_to_expr(source) < extent
        self.predicates[at] = logical_and(self.predicates[at], condition)
        return _of_one(source, extent, is_inner=bool(inner))

    def _divide_fused(
        self, mark: IterMark, division: _Division, splits: Sequence[IterSplitExpr]
    ) -> None:
        """Divide the splits of a mark that is divided: each is in one of the spaces."""
        equal = self._analyzer.can_prove_equal
        if len(splits) == 1 and _is_all_of(splits[0], mark, self._analyzer):
            self._divided[splits[0]] = division
            return
        left, reached = list(splits), const(1, mark.source.dtype)
        boundary = None
        while left:
            if boundary is None and equal(reached, division.inner_extent):
                boundary = reached
            found = [one for one in left if equal(one.lower_factor, reached)]
            if not found:
                raise NotAffineError
            split = found[0]
            left.remove(split)
            reached = reached * split.extent
            self._divided[split] = _moved(split, division, boundary)
        if boundary is None and not equal(reached, division.inner_extent):
            raise NotAffineError


def _moved(
    split: IterSplitExpr, division: _Division, boundary: PrimExpr | None
) -> _Division:
    """Return a split of a mark as one of its inner part, or of that behind it."""
    if boundary is None:
        new = IterSplitExpr(
            division.inner_mark, split.lower_factor, split.extent, split.scale
        )
        return _of_one(new, split.extent, is_inner=True)
    lower = floordiv(split.lower_factor, boundary)
    new = IterSplitExpr(division.outer_mark, lower, split.extent, split.scale)
    return _of_one(new, split.extent, is_inner=False)


def _is_all_of(split: IterSplitExpr, mark: IterMark, analyzer: Analyzer) -> bool:
    equal = analyzer.can_prove_equal
    return equal(split.lower_factor, 1) and equal(split.extent, mark.extent)


def _as_split(found: IterMapExpr, extent: PrimExpr) -> IterSplitExpr:
    if isinstance(found, IterSplitExpr):
        return found
    return IterSplitExpr.whole(IterMark(found, extent))


def _fused(splits: Sequence[IterSplitExpr], base: PrimExpr) -> IterMark:
    """Return one iterator of splits, the innermost first, without gaps between."""
    args, extent = list[IterSplitExpr](), const(1, base.dtype)
    for split in splits:
        args.append(split.changed(scale=extent))
        extent = extent * split.extent
    return IterMark(IterSumExpr(args[::-1], base), extent)


def _is_one(expr: PrimExpr) -> bool:
    return isinstance(expr, IntImm) and expr.value == 1
