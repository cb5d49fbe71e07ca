from __future__ import annotations

import pytest

from parpass.relay.analysis import check_constant
from parpass.relay.expr import Expr, Tuple, TupleGetItem, Var, const
from tests.support.relay.deep import DEEPEST
from tests.support.relay.programs import call_op

ONE = const(1)


@pytest.mark.parametrize("expr", [ONE, Tuple(()), Tuple((ONE, Tuple((ONE, ONE))))])
def test_constants_and_tuples_of_constants_are_constant(expr: Expr):
    assert check_constant(expr)


@pytest.mark.parametrize(
    "expr",
    [
        Var("x"),
        Tuple((ONE, Var("x"))),
        TupleGetItem(Tuple((ONE,)), 0),
        call_op("negative", ONE),
    ],
)
def test_anything_else_is_not(expr: Expr):
    assert not check_constant(expr)


def test_tuples_may_be_deep_and_shared():
    expr: Expr = ONE
    for _ in range(DEEPEST // 10):
        expr = Tuple((expr, expr))
    assert check_constant(expr)
