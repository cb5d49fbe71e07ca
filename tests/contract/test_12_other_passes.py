"""Contract section 12: dead code and common subexpressions."""

from __future__ import annotations

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.structural import assert_structural_equal
from parpass.relay.expr import Expr, Function, Let, Tuple, TupleGetItem
from parpass.relay.transform import (
    DeadCodeElimination,
    EliminateCommonSubexpr,
    InferType,
)
from parpass.transform import Pass
from tests.contract.marking import Run

X = relay.var("x", shape=(4,))


def check(run: Run, a_pass: Pass, body: Expr, expected: Expr) -> None:
    """Check what a pass makes of a body."""
    before, after = (IRModule({"main": Function((X,), b)}) for b in (body, expected))
    result = run(a_pass, InferType()(before))
    assert_structural_equal(result["main"], InferType()(after)["main"])


def test_12_1_a_dead_let_is_dropped(run: Run):
    a, b, c = (relay.var(name) for name in "abc")
    alive = Let(b, relay.exp(X), relay.add(b, b))
    dead = Let(a, relay.negative(X), Let(c, relay.exp(a), alive))
    check(run, DeadCodeElimination(), dead, alive)


def test_12_1_a_dead_recursive_closure_goes(run: Run):
    f, n = relay.var("f"), relay.var("n", shape=(4,))
    loop = Function((n,), f(n), n.type_annotation)
    check(run, DeadCodeElimination(), Let(f, loop, X), X)


def test_12_1_a_variable_used_once_may_be_inlined(run: Run):
    a = relay.var("a")
    once, twice = (Let(a, relay.exp(X), use) for use in (relay.negative(a), a + a))
    check(run, DeadCodeElimination(), once, once)
    check(run, DeadCodeElimination(True), once, relay.negative(relay.exp(X)))
    check(run, DeadCodeElimination(inline_once=True), twice, twice)


def test_12_2_equal_calls_and_projections_are_merged(run: Run):
    def add_one() -> Expr:
        return relay.add(X, relay.const(1.0))

    one = add_one()
    both = relay.multiply(add_one(), add_one())
    check(run, EliminateCommonSubexpr(), both, relay.multiply(one, one))
    halves = relay.split(X, 2).astuple()
    field = TupleGetItem(halves, 0)
    fields = Tuple((TupleGetItem(halves, 0), TupleGetItem(halves, 0)))
    check(run, EliminateCommonSubexpr(), fields, Tuple((field, field)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (relay.zeros((4,), "float32"), relay.zeros((4,), "float32")),
        (relay.clip(X, 0.0, 6.0), relay.clip(X, 0.0, 5.0)),
        (relay.add(X, relay.const(1.0)), relay.add(X, relay.const(2.0))),
    ],
)
def test_12_2_others_are_not(run: Run, first: Expr, second: Expr):
    pair = Tuple((first, second))
    check(run, EliminateCommonSubexpr(), pair, pair)


def test_12_2_fskip_keeps_calls_and_projections(run: Run):
    pair = Tuple((relay.exp(X), relay.exp(X)))
    check(run, EliminateCommonSubexpr(lambda _expr: True), pair, pair)
