"""Expressions that are linear in variables, and conditions that bound variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from parpass.ir.node import Node, children, post_order
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.conjunction import conjuncts
from parpass.tir.binary_op import GE, GT, LE, LT, Add, Mul, Sub
from parpass.tir.data_type import data_type
from parpass.tir.expr import Var
from parpass.tir.op import add, const, maximum, minimum, multiply, neg, subtract
from parpass.tir.prim_expr import IntImm, PrimExpr, as_prim_expr


class _Linear(NamedTuple):
    """`coeff * var + base`; None where one is 0."""

    coeff: PrimExpr | None
    base: PrimExpr | None


def detect_linear_equation(expr: Any, var_list: Sequence[Var]) -> list[PrimExpr]:
    """Return the factors of variables in an expression, and what is added to them.

    Args:
        expr: The expression.
        var_list: The variables.

    Returns:
        Such factors that `expr` is `var_list[0] * factors[0] + ... + factors[-1]`, none
        of which mentions one of the variables; an empty list if there are none.
    """
    base, factors = as_prim_expr(expr), list[PrimExpr]()
    for var in var_list:
        found = _linear(base, var)
        if found is None:
            return []
        zero = const(0, var.dtype)
        factors.append(zero if found.coeff is None else found.coeff)
        base = zero if found.base is None else found.base
    later = set[Node](var_list)
    if any(not later.isdisjoint(post_order(factor)) for factor in factors):
        return []
    return [*factors, base]


def _linear(expr: PrimExpr, var: Var) -> _Linear | None:
    """Return an expression as one that is linear in a variable, if it is."""
    found: dict[Node, _Linear | None] = {}
    has_var: set[Node] = {var}
    for node in post_order(expr):
        below = children(node)
        if not has_var.isdisjoint(below):
            has_var.add(node)
        if node is var:
            found[node] = _Linear(const(1, var.dtype), None)
        elif isinstance(node, Add | Sub | Mul):
            a, b = found[node.a], found[node.b]
            found[node] = None if a is None or b is None else _RULES[type(node)](a, b)
        elif isinstance(node, PrimExpr):
            found[node] = None if node in has_var else _Linear(None, node)
    return found[expr]


def _add(a: _Linear, b: _Linear) -> _Linear:
    return _Linear(_sum(a.coeff, b.coeff), _sum(a.base, b.base))


def _subtract(a: _Linear, b: _Linear) -> _Linear:
    return _Linear(_difference(a.coeff, b.coeff), _difference(a.base, b.base))


def _multiply(a: _Linear, b: _Linear) -> _Linear | None:
    if a.coeff is not None:
        a, b = b, a
    if a.coeff is not None:
        return None
    return _Linear(_product(a.base, b.coeff), _product(a.base, b.base))


def _sum(a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    if a is None or b is None:
        return b if a is None else a
    return add(a, b)


def _difference(a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    if b is None:
        return a
    return neg(b) if a is None else subtract(a, b)


def _product(a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    return None if a is None or b is None else multiply(a, b)


_RULES: dict[type[Any], Callable[[_Linear, _Linear], _Linear | None]] = {
    Add: _add,
    Sub: _subtract,
    Mul: _multiply,
}


def detect_clip_bound(expr: Any, var_list: Sequence[Var]) -> list[PrimExpr | None]:
    """Return between which expressions a condition says that variables are.

    Args:
        expr: Comparisons, all of which hold, of one of the variables each.
        var_list: The variables.

    Returns:
        The least and the greatest value of each variable, one after the other; None
        where the condition says nothing. An empty list, if it says anything else.
    """
    bounds: dict[Var, tuple[PrimExpr | None, PrimExpr | None]] = {}
    wanted = set(var_list)
    for comparison in conjuncts(as_prim_expr(expr)):
        mentioned = [one for one in post_order(comparison) if one in wanted]
        found = _clip(comparison, mentioned[0]) if len(mentioned) == 1 else None
        if found is None:
            return []
        var: Any = mentioned[0]
        low, high = bounds.get(var, (None, None))
        bounds[var] = (
            _tighter(maximum, low, found[0]),
            _tighter(minimum, high, found[1]),
        )
    analyzer = Analyzer()
    ends = [end for var in var_list for end in bounds.get(var, (None, None))]
    return [None if end is None else analyzer.simplify(end) for end in ends]


def _clip(comparison: PrimExpr, var: Any) -> tuple[Any, Any] | None:
    """Return the least and the greatest value that a comparison leaves a variable."""
    if not isinstance(comparison, LT | LE | GT | GE):
        return None
    if data_type(comparison.a.dtype).code != "int":
        return None
    is_less = isinstance(comparison, LT | LE)
    low, high = (
        (comparison.a, comparison.b) if is_less else (comparison.b, comparison.a)
    )
    gap = subtract(high, low)  # is not negative
    if isinstance(comparison, LT | GT):
        gap = subtract(gap, const(1, gap.dtype))
    found = _linear(gap, var)
    if found is None or found.coeff is None:
        return None
    coeff = Analyzer().simplify(found.coeff)
    base = const(0, gap.dtype) if found.base is None else found.base
    if not isinstance(coeff, IntImm) or coeff.value not in (1, -1):
        return None
    return (neg(base), None) if coeff.value == 1 else (None, base)


def _tighter(choose: Any, known: Any, found: Any) -> Any:
    if known is None or found is None:
        return found if known is None else known
    return choose(known, found)
