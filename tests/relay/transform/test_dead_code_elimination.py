from __future__ import annotations

import pytest

from parpass import relay
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType
from parpass.relay.expr import Call, Expr, GlobalVar, Let, Var
from parpass.relay.transform import DeadCodeElimination
from parpass.relay.transform.dead_code_elimination import eliminate_dead_code
from tests.support.relay.deep import DEPTHS

VECTOR = TensorType((3,))


x = relay.var("x", VECTOR)


def lets(*bindings: tuple[Var, Expr], body: Expr) -> Expr:
    for var, value in reversed(bindings):
        body = Let(var, value, body)
    return body


def test_it_is_a_function_pass_of_level_1_7_13() -> None:
    info = DeadCodeElimination().info
    assert (info.opt_level, tuple(info.required)) == (1, ())


def test_a_call_of_a_function_that_is_not_there_is_kept_unless_effects_are() -> None:
    a = relay.var("a")
    program = lets((a, Call(GlobalVar("missing"), (x,))), body=x)
    assert eliminate_dead_code(program, inline_once=True) is program
    assert eliminate_dead_code(program, ignore_impurity=True) is x


@pytest.mark.slow
@pytest.mark.parametrize("inline_once", [False, True])
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_long_chain_of_lets(inline_once: bool, depth: int) -> None:
    alive = [relay.var(f"v{at}") for at in range(depth)]
    chain = lets(
        *(
            (var, relay.negative(alive[at - 1] if at else x))
            for at, var in enumerate(alive)
        ),
        body=alive[-1],
    )
    dead = lets(*((relay.var("dead"), relay.exp(x)) for _ in alive), body=chain)
    result = eliminate_dead_code(dead, inline_once=inline_once)
    if not inline_once:
        assert result is chain
        return
    expected: Expr = x
    for _ in alive:
        expected = relay.negative(expected)
    assert_structural_equal(result, expected)
