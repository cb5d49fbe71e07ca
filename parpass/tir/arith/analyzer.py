"""The analyzer of integer arithmetic, under the names of `tvm.arith`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from parpass.errors import IRError
from parpass.tir.arith.analyzer_state import AnalyzerState
from parpass.tir.arith.interval import Interval
from parpass.tir.arith.rewrite_simplify import RewriteSimplifier
from parpass.tir.expr import IntImm, PrimExpr, Range, Var, as_prim_expr


class Analyzer:
    """Simplifies integer expressions.

    It keeps the facts about variables that you add. It assumes that int32 and int64
    arithmetic, which computes indices, does not overflow, and need not preserve
    expressions that divide by zero.
    """

    def __init__(self) -> None:
        self._known = AnalyzerState()
        # With the epoch of what it has found.
        self._simplifier: tuple[object, RewriteSimplifier | None] = None, None
        self._told: dict[tuple[Var, type[Any]], Any] = {}  # by variable, and what it is

    def simplify(self, expr: Any) -> PrimExpr:
        """Simplify an expression by rewriting rules."""
        given = as_prim_expr(expr)
        first = result = self._first(given)
        for _ in range(2):
            before, result = result, self._simplified(result)
            if before is result:
                break
        return given if result is first else result

    def _simplified(self, first: PrimExpr) -> PrimExpr:
        epoch = self._known.epoch
        of_epoch, simplifier = self._simplifier
        if of_epoch is not epoch or simplifier is None:
            simplifier = RewriteSimplifier(self._known)
        self._simplifier = None, None  # what an error leaves is not used again
        result = simplifier.simplified(first)
        self._simplifier = epoch, simplifier
        return result

    def bind(self, var: Var, expr: Any, *, allow_override: bool = False) -> None:
        """Bind a variable to an expression, or to a range.

        Raises:
            IRError: The variable is bound to a different one.
        """
        if isinstance(expr, Range):
            extent = self.simplify(expr.extent)
            if isinstance(extent, IntImm) and extent.value == 1:
                self.bind(var, expr.min, allow_override=allow_override)
                return
            least = self._bound(expr.min)
            most = self._bound(self.simplify(expr.min + extent - 1))
            bound = Interval(least.low, most.high)
            self._tell(var, bound, override=allow_override)
            return
        value = self.simplify(expr)
        bound = self._bound(value)
        self._tell(var, value, override=allow_override)
        self._tell(var, bound, override=allow_override)

    def _bound(self, expr: PrimExpr) -> Interval:
        return self._known.bounds.of(self._first(expr))

    def _tell(self, var: Var, info: Any, *, override: bool) -> None:
        known = self._told.get((var, cast("type[Any]", type(info))))
        if known is not None and known != info and not override:
            raise IRError(
                f"expected the known {type(info).__name__} of '{var.name}', {known}, "
                f"got {info}; to replace it, pass override=True"
            )
        if known is info or (known == info and isinstance(info, Interval)):
            return
        self._told[var, cast("type[Any]", type(info))] = info
        self._learn(var, info)

    def _learn(self, var: Var, info: Any) -> None:
        if isinstance(info, Interval):
            self._known.facts.variables[var] = info
        else:
            self._known.values[var] = self._known.table.first(info)
        self._known.learned(var)

    @contextmanager
    def constraint_scope(self, constraint: Any) -> Generator[None, None, None]:
        """Assume that a condition holds within the context."""
        condition = self.simplify(constraint)
        facts, known = self._known.facts, self._known
        mark = facts.mark()
        known.constraints += 1
        try:
            with known.apart():
                facts.holds(known.table.first(condition))
                yield
        finally:
            known.constraints -= 1
            facts.take_back(mark)

    def _first(self, expr: Any) -> PrimExpr:
        """Return what stands for an expression in the table, which is kept small."""
        known = self._known
        if known.table.is_full() and not known.constraints:
            known.clear()
            for (var, _), info in self._told.items():
                self._learn(var, info)
        return known.table.first(as_prim_expr(expr))
