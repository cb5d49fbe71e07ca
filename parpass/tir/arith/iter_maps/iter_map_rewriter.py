"""Expressions of iterators as sums of splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parpass.ir.node import Node, children
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.iter_maps.iter_fusion import IterFusion
from parpass.tir.arith.iter_maps.iter_map_expr import (
    IterMark,
    IterSplitExpr,
    IterSumExpr,
)
from parpass.tir.binary_op import Add, FloorDiv, FloorMod, Mul, Sub
from parpass.tir.expr import Var
from parpass.tir.expr_functor import ExprMutator
from parpass.tir.iteration import Range
from parpass.tir.op import const, floordiv
from parpass.tir.prim_expr import IntImm, PrimExpr


class NotAffineError(Exception):
    """An expression is no sum of splits of iterators."""


class IterMapRewriter(ExprMutator):
    """Makes sums of splits of the expressions that mention iterators.

    Args:
        analyzer: Compares factors.
        iters: What each iterator is within.

    Attributes:
        input_marks: The iterators that take more than one value.
        fusion: What knows which sums are iterators by themselves.
    """

    def __init__(self, analyzer: Analyzer, iters: Mapping[Var, Range]) -> None:
        super().__init__()
        self._analyzer = analyzer
        self.fusion = IterFusion(analyzer)
        self._inputs: dict[Var, PrimExpr] = {}
        self.input_marks: list[IterMark] = []
        for var, within in iters.items():
            self._inputs[var] = self._iterator(var, within)

    def _iterator(self, var: Var, within: Range) -> PrimExpr:
        if _is(within.extent, 1):
            return within.min
        source = var if _is(within.min, 0) else Sub(var, within.min)
        mark = IterMark(source, within.extent)
        self.input_marks.append(mark)
        return IterSumExpr([IterSplitExpr.whole(mark)], within.min)

    def constrain(self, expr: PrimExpr, bound: PrimExpr) -> None:
        """Learn that an expression is below a bound.

        Raises:
            NotAffineError: It is not one iterator.
        """
        found = self._simplified(expr)
        if not _is(found.base, 0) or not self.fusion.constrain(found.args, bound):
            raise NotAffineError
        self.memo_map.clear()

    def rewrite(self, expr: PrimExpr) -> IterSumExpr:
        """Return an expression as a base and at most one split of an iterator.

        Raises:
            NotAffineError: It is none.
        """
        found = self._simplified(expr)
        if not found.args:
            return found
        return IterSumExpr([self._one_split(found.args)], found.base)

    def _sum(self, expr: PrimExpr) -> IterSumExpr:
        found: Any = self.visit(expr)
        return found if isinstance(found, IterSumExpr) else IterSumExpr([], found)

    def _simplified(self, expr: PrimExpr) -> IterSumExpr:
        """Return an expression as a sum with a simplified base."""
        found = self._sum(expr)
        return IterSumExpr(found.args, self._analyzer.simplify(found.base))

    def _one_split(self, args: Any) -> IterSplitExpr:
        found = self.fusion.fused(args)
        if found is None:
            raise NotAffineError
        return found

    def visit_var_(self, op: Var) -> PrimExpr:
        """Return an iterator as a sum; others as they are."""
        return self._inputs.get(op, op)

    def visit_default(self, expr: Node) -> Node:
        """Refuse iterators within what is not told by sums, products and divisions."""
        if any(isinstance(self.visit(one), IterSumExpr) for one in children(expr)):
            raise NotAffineError
        return super().visit_default(expr)

    def visit_add_(self, op: Add) -> Node:
        """Add the splits, and the bases."""
        return self._added(op, 1)

    def visit_sub_(self, op: Sub) -> Node:
        """Subtract the splits, and the bases."""
        return self._added(op, -1)

    def _added(self, op: Add | Sub, sign: int) -> Node:
        if not self._is_of_iterators(op):
            return super().visit_default(op)
        a, b = self._sum(op.a), self._sum(op.b)
        found: list[IterSplitExpr] = list(a.args)
        for new in b.args:
            scale = new.scale if sign > 0 else -new.scale
            alike = [at for at, one in enumerate(found) if one.is_like(new)]
            if alike:
                scale = found[alike[0]].scale + scale
                found[alike[0]] = new.changed(scale=scale)
            else:
                found.append(new.changed(scale=scale))
        left = [
            one for one in found if not self._analyzer.can_prove_equal(one.scale, 0)
        ]
        return _sum_of(left, a.base + b.base if sign > 0 else a.base - b.base)

    def visit_mul_(self, op: Mul) -> Node:
        """Multiply the scales, and the base."""
        if not self._is_of_iterators(op):
            return super().visit_default(op)
        a, b = self._sum(op.a), self._sum(op.b)
        if a.args and b.args:
            raise NotAffineError
        if not a.args:
            a, b = b, a
        if self._analyzer.can_prove_equal(b.base, 0):
            return const(0, op.dtype)
        args = [one.changed(scale=one.scale * b.base) for one in a.args]
        return _sum_of(args, a.base * b.base)

    def visit_floor_div_(self, op: FloorDiv) -> Node:
        """Divide the only split."""
        if not self._is_of_iterators(op):
            return super().visit_default(op)
        split, divisor = self._divided(op)
        return _sum_of([self._quotient(split, divisor)], const(0, op.dtype))

    def visit_floor_mod_(self, op: FloorMod) -> Node:
        """Give the remainder of the only split."""
        if not self._is_of_iterators(op):
            return super().visit_default(op)
        split, divisor = self._divided(op)
        found = self._remainder(split, divisor)
        return _sum_of([] if found is None else [found], const(0, op.dtype))

    def _is_of_iterators(self, op: Any) -> bool:
        mentioned = (self.visit(op.a), self.visit(op.b))
        return any(isinstance(one, IterSumExpr) for one in mentioned)

    def _divided(self, op: FloorDiv | FloorMod) -> tuple[IterSplitExpr, PrimExpr]:
        a, b = self._simplified(op.a), self._simplified(op.b)
        if b.args or not _is(a.base, 0):
            raise NotAffineError
        divisor = b.base
        split = self._one_split(a.args)
        if not (self._is_natural(divisor) and self._is_natural(split.scale)):
            raise NotAffineError
        return split, divisor

    def _quotient(self, split: IterSplitExpr, divisor: PrimExpr) -> IterSplitExpr:
        if self._divides(divisor, split.scale):  # x*c1*c2 // c2 = x*c1
            scale = self._analyzer.simplify(floordiv(split.scale, divisor))
            return split.changed(scale=scale)
        divisor = self._without_scale(split, divisor)  # x*c1 // (c1*c2) = x // c2
        if not self._divides(divisor, split.extent):
            raise NotAffineError
        extent = self._analyzer.simplify(floordiv(split.extent, divisor))
        lower = split.lower_factor * divisor
        return split.changed(lower_factor=lower, extent=extent, scale=1)

    def _remainder(
        self, split: IterSplitExpr, divisor: PrimExpr
    ) -> IterSplitExpr | None:
        if self._divides(divisor, split.scale):  # x*c1*c2 % c2 = 0
            return None
        divisor = self._without_scale(split, divisor)  # x*c1 % (c1*c2) = x % c2 * c1
        if not self._divides(divisor, split.extent):
            raise NotAffineError
        return split.changed(extent=divisor)

    def _without_scale(self, split: IterSplitExpr, divisor: PrimExpr) -> PrimExpr:
        if not self._divides(split.scale, divisor):
            raise NotAffineError
        return self._analyzer.simplify(floordiv(divisor, split.scale))

    def _divides(self, divisor: PrimExpr, expr: PrimExpr) -> bool:
        return divides(self._analyzer, divisor, expr)

    def _is_natural(self, expr: PrimExpr) -> bool:
        return self._analyzer.can_prove_greater_equal(expr, 0)


def divides(analyzer: Analyzer, divisor: PrimExpr, expr: PrimExpr) -> bool:
    """Return whether an expression is found to be a multiple of another one."""
    if isinstance(divisor, IntImm):
        if not divisor.value:
            return False
        if isinstance(expr, IntImm):
            return expr.value % divisor.value == 0
    if analyzer.can_prove_equal(divisor, expr):
        return True
    return analyzer.can_prove((expr % divisor).equal(0))


def _sum_of(args: list[IterSplitExpr], base: PrimExpr) -> PrimExpr:
    """Return a sum; its base alone, if there is no more."""
    return IterSumExpr(args, base) if args else base


def _is(expr: Any, value: int) -> bool:
    return isinstance(expr, IntImm) and expr.value == value
