"""Programs that are as deep as asked for, in each way in which programs can be."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from parpass.relay.adt import Clause, Match, PatternVar
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    Tuple,
    TupleGetItem,
    Var,
    var,
)
from tests.support.relay.programs import call_op

DEPTH = 5_000  # five times what Python's recursion allows
DEEPEST = 100_000  # in the stress suite
MAX_CALLEES = 1_000  # that are calls themselves

DEPTHS = [DEPTH, pytest.param(DEEPEST, marks=pytest.mark.stress)]

X = var("x", shape=(2, 3))
COND = var("c", "bool")


def calls(depth: int) -> Expr:
    """Return `x + x` added to itself, and so on; it has 2 ** depth paths."""
    expr: Expr = X
    for _ in range(depth):
        expr = call_op("add", expr, expr)
    return expr


def lets(depth: int) -> Expr:
    """Return a chain of `let`s, each of which uses the variable before."""
    names = [Var(f"v{at}") for at in range(depth)]
    body: Expr = names[-1]
    for name, before in zip(names[::-1], [*names[-2::-1], X], strict=True):
        body = Let(name, call_op("negative", before), body)
    return body


def let_values(depth: int) -> Expr:
    """Return `let`s in the values of `let`s."""
    expr: Expr = X
    for at in range(depth):
        name = Var(f"v{at}")
        expr = Let(name, expr, name)
    return expr


def ifs(depth: int) -> Expr:
    """Return `if`s in the branches of `if`s."""
    expr: Expr = X
    for _ in range(depth):
        expr = If(COND, expr, X)
    return expr


def matches(depth: int) -> Expr:
    """Return matches in the clauses of matches."""
    expr: Expr = X
    for _ in range(depth):
        y = Var("y")
        expr = Match(X, [Clause(PatternVar(y), expr)])
    return expr


def references(depth: int) -> Expr:
    """Return what references have that are created of what references have."""
    expr: Expr = X
    for _ in range(depth):
        expr = RefRead(RefCreate(expr))
    return expr


def closures(depth: int) -> Expr:
    """Return functions in the bodies of functions."""
    expr: Expr = X
    for _ in range(depth):
        expr = Function((Var("p"),), expr)
    return expr


def tuples(depth: int) -> Expr:
    """Return tuples in tuples."""
    expr: Expr = X
    for _ in range(depth):
        expr = Tuple((expr,))
    return expr


def projections(depth: int) -> Expr:
    """Return projections of projections."""
    expr: Expr = X
    for _ in range(depth):
        expr = TupleGetItem(expr, 0)
    return expr


def operators(depth: int) -> Expr:
    """Return calls of what calls give, as many as there may be at `DEEPEST`."""
    expr: Expr = X
    for _ in range(depth * MAX_CALLEES // DEEPEST):
        expr = Call(expr, (X,))
    return expr


def in_stress(kind: Callable[[int], Expr]) -> Any:
    """Return a kind as a test parameter of the stress suite, where it is deepest."""
    return pytest.param(deepest(kind), marks=pytest.mark.stress)


def deepest(kind: Callable[[int], Expr]) -> Callable[[int], Expr]:
    """Return a kind that gives programs of `DEEPEST` where `DEPTH` is asked for."""

    @functools.wraps(kind)
    def deeper(depth: int) -> Expr:
        return kind(depth * DEEPEST // DEPTH)

    return deeper


ALL_KINDS: list[Callable[[int], Expr]] = [
    calls,
    lets,
    ifs,
    let_values,
    matches,
    references,
    closures,
    tuples,
    projections,
    operators,
]

# Each takes seconds at full depth: the default suite has the two commonest.
_COMMONEST = [pytest.param(calls), pytest.param(lets)]
KINDS: list[Any] = [*_COMMONEST, *map(in_stress, ALL_KINDS)]
TYPED_KINDS: list[Any] = [*_COMMONEST, *map(in_stress, ALL_KINDS[:6])]


def function_of(body: Expr) -> Function:
    """Return a function over the variables that these programs leave free."""
    return Function((X, COND), body)
