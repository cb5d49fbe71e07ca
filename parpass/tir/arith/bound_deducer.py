"""Between which expressions a variable has to be for a comparison to hold."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, NamedTuple

from parpass.ir.node import Node, children, post_order
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.interval_set import (
    NEG_INF,
    NOTHING,
    POS_INF,
    IntervalSet,
    IntervalSetEvaluator,
)
from parpass.tir.binary_op import EQ, GE, GT, LE, LT, Add, Mul, Sub
from parpass.tir.data_type import data_type
from parpass.tir.expr import Var
from parpass.tir.op import (
    add,
    const,
    equal,
    floordiv,
    floormod,
    multiply,
    subtract,
)
from parpass.tir.prim_expr import IntImm, PrimExpr, as_prim_expr

Sets = Mapping[Var, IntervalSet]


def deduce_bound(var: Var, cond: Any, hint_map: Sets, relax_map: Sets) -> IntervalSet:
    """Return a set of a variable's values in all of which a comparison holds.

    Args:
        var: The variable; it stands in the comparison once.
        cond: The comparison, of sums, differences and products.
        hint_map: Sets of other variables, from which the signs of factors follow.
        relax_map: Sets of other variables, for all values of which the comparison is
            to hold. They are not mentioned in the result.

    Returns:
        The set, which does not mention the variable; nothing, if none is found.
    """
    claim = _claim(var, as_prim_expr(cond))
    if claim is None:
        return NOTHING
    analyzer = Analyzer()
    claim = _relaxed(claim, analyzer, relax_map)
    if claim is None or _occurrences(claim.bound, var):
        return NOTHING
    found = _solved(claim, var, analyzer, IntervalSetEvaluator(analyzer, hint_map))
    if found is None:
        return NOTHING
    return IntervalSet(
        NEG_INF if found.side is _Side.AT_MOST else found.bound,
        POS_INF if found.side is _Side.AT_LEAST else found.bound,
    )


class _Side(enum.Enum):
    AT_LEAST = ">="
    AT_MOST = "<="
    EQUAL = "=="


_OPPOSITE = {_Side.AT_LEAST: _Side.AT_MOST, _Side.AT_MOST: _Side.AT_LEAST}


class _Claim(NamedTuple):
    """That an expression, which has the variable, is not beyond a bound."""

    expr: PrimExpr
    side: _Side
    bound: PrimExpr


# Of `a op b` the side on which `a` is, and how far the bound is from `b`.
_COMPARED: Mapping[type[PrimExpr], tuple[_Side, int]] = {
    LT: (_Side.AT_MOST, -1),
    LE: (_Side.AT_MOST, 0),
    GT: (_Side.AT_LEAST, 1),
    GE: (_Side.AT_LEAST, 0),
    EQ: (_Side.EQUAL, 0),
}


def _claim(var: Var, cond: PrimExpr) -> _Claim | None:
    """Return what a comparison says of the side that has the variable."""
    if not isinstance(cond, LT | LE | GT | GE | EQ):
        return None
    side, gap = _COMPARED[type(cond)]
    kind = data_type(cond.a.dtype)
    if kind.code != "int" or kind.lanes != 1 or _occurrences(cond, var) != 1:
        return None
    if _occurrences(cond.a, var):
        return _Claim(cond.a, side, _shifted(cond.b, gap))
    return _Claim(cond.b, _OPPOSITE.get(side, side), _shifted(cond.a, -gap))


def _shifted(expr: PrimExpr, by: int) -> PrimExpr:
    return add(expr, const(by, expr.dtype))


def _occurrences(expr: PrimExpr, var: Var) -> int:
    """Return how often a variable stands in an expression: 0, 1, or 2 for more."""
    counts: dict[Any, int] = {}
    for node in post_order(expr):
        below = 1 if node is var else 0
        counts[node] = min(2, sum([counts[child] for child in children(node)], below))
    return counts[expr]


def _relaxed(claim: _Claim, analyzer: Analyzer, relax_map: Sets) -> _Claim | None:
    """Return what holds, too, for all values of other variables."""
    expr = analyzer.int_set(claim.expr, relax_map)
    bound = analyzer.int_set(claim.bound, relax_map)
    if claim.side is _Side.EQUAL:
        if not (_is_point(expr, analyzer) and _is_point(bound, analyzer)):
            return None
        return claim._replace(expr=expr.min_value, bound=bound.min_value)
    if claim.side is _Side.AT_LEAST:
        if not expr.has_lower_bound() or not bound.has_upper_bound():
            return None
        return claim._replace(expr=expr.min_value, bound=bound.max_value)
    if not expr.has_upper_bound() or not bound.has_lower_bound():
        return None
    return claim._replace(expr=expr.max_value, bound=bound.min_value)


def _is_point(found: IntervalSet, analyzer: Analyzer) -> bool:
    if not (found.has_lower_bound() and found.has_upper_bound()):
        return False
    return analyzer.can_prove(equal(found.min_value, found.max_value))


def _solved(
    claim: _Claim, var: Var, analyzer: Analyzer, hints: IntervalSetEvaluator
) -> _Claim | None:
    """Return the claim about the variable itself, by taking apart the expression."""
    if _occurrences(claim.expr, var) != 1:
        return None
    has_var: set[Node] = {var}
    for node in post_order(claim.expr):
        if not has_var.isdisjoint(children(node)):
            has_var.add(node)
    found: _Claim | None = claim
    while found is not None and found.expr is not var:
        node = found.expr
        if not isinstance(node, Add | Sub | Mul):
            return None
        inner, other = (node.a, node.b) if node.a in has_var else (node.b, node.a)
        found = found._replace(expr=inner)
        if isinstance(node, Add):
            found = found._replace(bound=subtract(found.bound, other))
        elif isinstance(node, Mul):
            found = _divided(found, other, analyzer, hints)
        elif inner is node.a:
            found = found._replace(bound=add(found.bound, other))
        else:
            found = _negated(found._replace(bound=subtract(found.bound, other)))
    return found


def _negated(claim: _Claim) -> _Claim:
    bound = multiply(claim.bound, const(-1, claim.bound.dtype))
    return claim._replace(side=_OPPOSITE.get(claim.side, claim.side), bound=bound)


def _divided(
    claim: _Claim, factor: PrimExpr, analyzer: Analyzer, hints: IntervalSetEvaluator
) -> _Claim | None:
    """Return the claim without a factor of its expression."""
    sign = _sign(hints.visit(factor), analyzer)
    if sign == 0 or (claim.side is _Side.EQUAL and not isinstance(factor, IntImm)):
        return None  # of equations TVM's, too, divides those by constants alone
    if sign < 0:
        claim = claim._replace(side=_OPPOSITE.get(claim.side, claim.side))
    leaves = floormod(claim.bound, factor)
    is_whole = analyzer.can_prove(equal(leaves, const(0, leaves.dtype)))
    bound = floordiv(claim.bound, factor)
    if not is_whole and claim.side is _Side.EQUAL:
        return None
    if not is_whole and claim.side is _Side.AT_LEAST:  # the quotient was rounded down
        bound = _shifted(bound, 1)
    return claim._replace(bound=bound)


def _sign(found: IntervalSet, analyzer: Analyzer) -> int:
    """Return 1 or -1, or 0 if it is not known that all are positive, or negative."""
    if found.has_lower_bound():
        low = analyzer.simplify(found.min_value)
        if isinstance(low, IntImm) and low.value > 0:
            return 1
    if found.has_upper_bound():
        high = analyzer.simplify(found.max_value)
        if isinstance(high, IntImm) and high.value < 0:
            return -1
    return 0
