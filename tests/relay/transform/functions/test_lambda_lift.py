from __future__ import annotations

from collections.abc import Callable

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.relay.expr import Call, Expr, Function, Tuple
from parpass.relay.transform import LambdaLift
from tests.support.relay.deep import (
    DEEPEST,
    X,
    calls,
    function_of,
    ifs,
    let_values,
    lets,
)


def test_it_is_a_module_pass_of_level_1_7_13() -> None:
    info = LambdaLift().info
    assert (info.name, info.opt_level, tuple(info.required)) == ("LambdaLift", 1, ())


@pytest.mark.stress
@pytest.mark.parametrize("kind", [calls, lets, let_values, ifs])
def test_the_program_around_a_closure_may_be_deep(kind: Callable[[int], Expr]) -> None:
    body = Tuple((kind(DEEPEST), Function((), X)))
    assert len(LambdaLift()(IRModule({"main": function_of(body)}))) == 2


@pytest.mark.stress
def test_closures_may_be_nested_deeply() -> None:
    expr: Expr = X
    for _ in range(DEEPEST):
        expr = relay.exp(Call(Function((), expr), ()))
    after = LambdaLift()(IRModule({"main": Function((X,), expr)}))
    assert len(after) == 1 + DEEPEST
