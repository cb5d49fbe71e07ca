"""Fourier-Motzkin elimination: bounds of variables, each by those that come later.

Each pair of a lower and an upper bound of a variable says something of the others: that
the one is not above the other. Dantzig and Eaves, "Fourier-Motzkin elimination and its
dual" (1973), prove it. Over the ints what it says of the others may be too little,
where the variable has factors; so the bounds stay part of the system.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from parpass.errors import ArgumentError
from parpass.ir.node import post_order
from parpass.tir.analysis.deep_equal import expr_deep_equal
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.conjunction import conjuncts
from parpass.tir.arith.linear_equation import detect_linear_equation
from parpass.tir.arith.linear_systems.group_bounds import STEPS, IntGroupBounds
from parpass.tir.arith.linear_systems.int_constraints import (
    NO_SOLUTION,
    IntConstraints,
    knowing,
)
from parpass.tir.binary_op import EQ, GE, GT, LE, LT, NE
from parpass.tir.data_type import data_type
from parpass.tir.expr import Var
from parpass.tir.op import const
from parpass.tir.prim_expr import IntImm, PrimExpr


class Eliminated(NamedTuple):
    """A system whose variables are bounded one by one.

    Attributes:
        bounds: Those of each variable, by expressions over variables that come later.
        others: Conditions that bound no variable.
    """

    bounds: dict[Var, IntGroupBounds]
    others: list[PrimExpr]

    def conditions(self) -> list[PrimExpr]:
        """Return the system as conditions."""
        by_var = [bounds.conditions(var) for var, bounds in self.bounds.items()]
        return [*itertools.chain(*by_var), *self.others]


class _Term(NamedTuple):
    """`factor * v + rest <= 0`, of a variable v."""

    factor: int
    rest: PrimExpr


def eliminate(system: IntConstraints) -> Eliminated:
    """Return a system with the variables eliminated, in their order.

    Raises:
        ArgumentError: A variable is to be solved for twice.
    """
    analyzer = knowing(system.ranges)
    conditions, others = _Conditions(analyzer), list[PrimExpr]()
    for relation in system.relations:
        for part in conjuncts(analyzer.simplify(relation, STEPS)):
            conditions.add(_compared_to_0(part, analyzer))
    bounds: dict[Var, IntGroupBounds] = {}
    for var in system.variables:
        if var in bounds:
            raise ArgumentError(f"expected each variable once, got '{var.name}' twice")
        upper, lower = _of_range(system, var, analyzer)
        left = _Conditions(analyzer)
        for one in conditions.found:
            terms = _terms(one, var)
            if terms is None:
                others.append(one)
            elif not terms:
                left.add(one)
            for term in terms or ():
                (upper if term.factor > 0 else lower).append(term)
        for above, below in itertools.product(upper, lower):
            new = analyzer.simplify(_without(above, below), STEPS)
            left.add(_compared_to_0(new, analyzer))
        bounds[var] = _bounds(var, upper, lower, analyzer)
        conditions = left
    return Eliminated(bounds, _simplified(conditions.found, analyzer) + others)


class _Conditions:
    """Conditions that hold, without those that follow from others of them."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self.found: list[PrimExpr] = []

    def add(self, new: PrimExpr) -> None:
        """Take a condition in, unless it is known to hold."""
        proves = self._analyzer.can_prove
        if proves(new) or _is_among(new, self.found):
            return
        if isinstance(new, LE):
            for one in [one for one in self.found if isinstance(one, LE)]:
                if proves(new.a <= one.a):
                    return
                if proves(one.a <= new.a):
                    self.found.remove(one)
        self.found.append(new)


def _compared_to_0(condition: PrimExpr, analyzer: Analyzer) -> PrimExpr:
    """Return a comparison of ints with 0 on its right side; others as they are."""
    if not isinstance(condition, EQ | NE | LT | LE | GT | GE):
        return condition
    a, b = condition.a, condition.b
    if not data_type(a.dtype).is_integral or data_type(a.dtype).code == "bool":
        return condition
    if isinstance(condition, GT | GE):
        a, b = b, a
    gap = a - b + 1 if isinstance(condition, LT | GT) else a - b
    kind = type(condition) if isinstance(condition, EQ | NE) else LE
    return kind(analyzer.simplify(gap), const(0, a.dtype))


def _terms(condition: PrimExpr, var: Var) -> list[_Term] | None:
    """Return what a condition says of a variable; None if that is not linear."""
    if not isinstance(condition, LE | EQ):
        return None if var in post_order(condition) else []
    found = detect_linear_equation(condition.a, [var])
    if not found or not isinstance(found[0], IntImm):
        return None
    factor, rest = found[0].value, found[1]
    if not factor:
        return []
    terms = [_Term(factor, rest)]
    return [*terms, _Term(-factor, -rest)] if isinstance(condition, EQ) else terms


def _of_range(
    system: IntConstraints, var: Var, analyzer: Analyzer
) -> tuple[list[_Term], list[_Term]]:
    """Return what a variable is at most and at least, by its range."""
    within = system.ranges.get(var)
    if within is None:
        return [], []
    last = analyzer.simplify(within.min + within.extent - 1, STEPS)
    return [_Term(1, -last)], [_Term(-1, analyzer.simplify(within.min, STEPS))]


def _without(above: _Term, below: _Term) -> PrimExpr:
    """Return what an upper and a lower bound say of other variables."""
    common = math.gcd(above.factor, below.factor)
    dtype = above.rest.dtype
    of_above = const(-below.factor // common, dtype) * above.rest
    of_below = const(above.factor // common, dtype) * below.rest
    return LE(of_below + of_above, const(0, dtype))


def _bounds(
    var: Var, upper: Sequence[_Term], lower: Sequence[_Term], analyzer: Analyzer
) -> IntGroupBounds:
    """Return the bounds of a common multiple of a variable."""
    coef = math.lcm(*[term.factor for term in (*upper, *lower)])

    def scaled(term: _Term) -> PrimExpr:
        bound = const(-coef // term.factor, var.dtype) * term.rest
        return analyzer.simplify(bound, STEPS)

    proves = analyzer.can_prove
    uppers = _tightest(map(scaled, upper), lambda a, b: proves(a <= b))
    lowers = _tightest(map(scaled, lower), lambda a, b: proves(a >= b))
    same = [one for one in lowers if _is_among(one, uppers)]
    return IntGroupBounds(
        const(coef, var.dtype),
        [one for one in lowers if not _is_among(one, same)],
        sorted(same, key=lambda one: len(post_order(one))),
        [one for one in uppers if not _is_among(one, same)],
    )


def _is_among(expr: PrimExpr, others: Iterable[PrimExpr]) -> bool:
    return any(expr_deep_equal(expr, other) for other in others)


def _tightest(
    bounds: Iterable[PrimExpr], is_tighter: Callable[[PrimExpr, PrimExpr], bool]
) -> list[PrimExpr]:
    """Return the bounds from which the others are seen to follow."""
    found: list[PrimExpr] = []
    for new in bounds:
        if not any(is_tighter(one, new) for one in found):
            found = [one for one in found if not is_tighter(new, one)]
            found.append(new)
    return found


def _simplified(conditions: Iterable[PrimExpr], analyzer: Analyzer) -> list[PrimExpr]:
    """Return conditions, simplified; one that is false, if they contradict."""
    found: list[PrimExpr] = []
    for one in conditions:
        simplified = analyzer.simplify(one, STEPS)
        if not isinstance(simplified, IntImm):
            found.append(simplified)
        elif not simplified.value:
            return [*NO_SOLUTION.relations]
    return found
