"""The analyzer of integer arithmetic, under the names of `tvm.arith`."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from parpass.errors import IRError, IRTypeError
from parpass.tir.arith.analyzer_state import AnalyzerState
from parpass.tir.arith.canonical_simplify import CanonicalSimplifier
from parpass.tir.arith.congruence import Congruence
from parpass.tir.arith.const_int_bound import ConstIntBound
from parpass.tir.arith.interval_set import IntervalSet, IntervalSetEvaluator
from parpass.tir.arith.modular_set import ModularSet
from parpass.tir.arith.rewrite_simplify import RewriteSimplifier
from parpass.tir.expr import Var
from parpass.tir.iteration import Range
from parpass.tir.prim_expr import IntImm, PrimExpr, as_prim_expr

_PLAIN = (ConstIntBound, ModularSet)


class Analyzer:
    """Proves facts about integer expressions, and simplifies them.

    It keeps the facts about variables that it receives. Arithmetic of int32 and int64,
    which indices are computed by, is assumed not to overflow; expressions that divide
    by zero have no meaning that must be preserved.
    """

    def __init__(self) -> None:
        self._known = AnalyzerState()
        # By class, with the epoch of what they have found.
        self._simplifiers: dict[type[Any], tuple[object, Any]] = {}
        self._told: dict[tuple[Var, type[Any]], Any] = {}  # by variable, and what it is

    def const_int_bound(self, expr: Any) -> ConstIntBound:
        """Return between which constants an expression is."""
        return ConstIntBound.of(self._known.bounds.of(self._first(expr)))

    def modular_set(self, expr: Any) -> ModularSet:
        """Return which remainder an expression leaves."""
        return ModularSet(*self._known.moduli.of(self._first(expr)))

    def int_set(
        self, expr: Any, dom_map: Mapping[Var, IntervalSet] | None = None
    ) -> IntervalSet:
        """Return what an expression may be, as expressions.

        Args:
            expr: The expression.
            dom_map: The sets of variables; others are what they are.
        """
        return IntervalSetEvaluator(self, dom_map or {}).visit(as_prim_expr(expr))

    def rewrite_simplify(self, expr: Any) -> PrimExpr:
        """Simplify an expression by rewriting rules."""
        given = as_prim_expr(expr)
        first = result = self._first(given)
        for _ in range(2):
            before, result = result, self._simplified(RewriteSimplifier, result)
            if before is result:
                break
        return given if result is first else result

    def canonical_simplify(self, expr: Any) -> PrimExpr:
        """Simplify an expression by a canonical form of sums and divisions."""
        given = as_prim_expr(expr)
        first = self._first(given)
        result = self._simplified(CanonicalSimplifier, first)
        return given if result is first else result

    def _simplified(self, kind: type[RewriteSimplifier], first: PrimExpr) -> PrimExpr:
        epoch = self._known.epoch
        of_epoch, simplifier = self._simplifiers.pop(kind, (None, None))
        if of_epoch is not epoch:
            simplifier = kind(self._known)
        result = simplifier.simplified(first)
        self._simplifiers[kind] = epoch, simplifier
        return result

    def simplify(self, expr: Any, steps: int = 2) -> PrimExpr:
        """Simplify an expression by rewriting and canonical forms, in turn.

        Args:
            expr: The expression.
            steps: How many of the two, of which rewriting is the first.
        """
        result = as_prim_expr(expr)
        for step in range(steps):
            if isinstance(result, IntImm):
                break
            by_rules = step % 2 == 0
            simplify = self.rewrite_simplify if by_rules else self.canonical_simplify
            result = simplify(result)
        return result

    def bind(self, var: Var, expr: Any, *, allow_override: bool = False) -> None:
        """Bind a variable to an expression, or to a range.

        Raises:
            IRError: It is bound to a different one.
        """
        if isinstance(expr, Range):
            extent = self.simplify(expr.extent)
            if isinstance(extent, IntImm) and extent.value == 1:
                self.bind(var, expr.min, allow_override=allow_override)
                return
            least, most = (
                self.const_int_bound(expr.min),
                self.const_int_bound(self.simplify(expr.min + extent - 1)),
            )
            bound = ConstIntBound(least.min_value, most.max_value)
            self.update(var, bound, override=allow_override)
            return
        value = self.simplify(expr)
        found = self.const_int_bound(value), self.modular_set(value)
        self._tell(var, value, override=allow_override)
        for one in found:
            self._tell(var, one, override=allow_override)

    def update(
        self,
        var: Var,
        info: ConstIntBound | ModularSet,
        override: bool = False,
    ) -> None:
        """Learn between which constants a variable is, or which remainder it leaves.

        Raises:
            IRError: Something else is known, and is not to be overridden.
        """
        if not isinstance(cast("object", info), _PLAIN):
            raise IRTypeError(
                "expected a ConstIntBound or a ModularSet to know of a variable, got "
                f"{type(info).__name__}"
            )
        self._tell(var, info, override=override)

    def _tell(self, var: Var, info: Any, *, override: bool) -> None:
        known = self._told.get((var, cast("type[Any]", type(info))))
        if known is not None and known != info and not override:
            raise IRError(
                f"expected the {type(info).__name__} of '{var.name}' that is known, "
                f"{known}, got {info}; to change it give override"
            )
        if known is info or (known == info and isinstance(info, _PLAIN)):
            return
        self._told[var, cast("type[Any]", type(info))] = info
        self._learn(var, info)

    def _learn(self, var: Var, info: Any) -> None:
        facts = self._known.facts
        if isinstance(info, ConstIntBound):
            facts.variables[var] = info.interval
        elif isinstance(info, ModularSet):
            facts.moduli[var] = Congruence.of(info.coeff, info.base)
        else:
            self._known.values[var] = self._known.table.first(info)
        self._known.learned(var)

    @contextmanager
    def constraint_scope(self, constraint: Any) -> Generator[None, None, None]:
        """Take a condition to hold, for as long as the context lasts."""
        condition = self.rewrite_simplify(constraint)
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

    def can_prove(self, condition: Any) -> bool:
        """Return whether a condition is found to hold always."""
        found = self.simplify(condition)
        return isinstance(found, IntImm) and found.value != 0

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        """Return whether two expressions are found to be equal."""
        difference = self.simplify(as_prim_expr(lhs) - as_prim_expr(rhs))
        return isinstance(difference, IntImm) and difference.value == 0

    def can_prove_greater_equal(self, expr: Any, lower_bound: int) -> bool:
        """Return whether an expression is found to be a constant, or more."""
        if self.const_int_bound(expr).min_value >= lower_bound:
            return True
        return self.const_int_bound(self.simplify(expr)).min_value >= lower_bound

    def _first(self, expr: Any) -> PrimExpr:
        """Return what stands for an expression in the table, which is kept small."""
        known = self._known
        if known.table.is_full() and not known.constraints:
            known.clear()
            for (var, _), info in self._told.items():
                self._learn(var, info)
        return known.table.first(as_prim_expr(expr))
