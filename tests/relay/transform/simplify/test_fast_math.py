from __future__ import annotations

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.transform import FastMath
from parpass.relay.transform.simplify.fast_math import FastMathReplacer
from parpass.transform import PassContext, Sequential
from tests.support.relay.deep import DEPTHS

x = relay.var("x", shape=(3,))
grid = relay.var("grid", shape=(2, 5))


def module(body: Expr) -> IRModule:
    return IRModule.from_expr(Function((x, grid), body))


def test_it_runs_at_level_4_or_when_it_is_required_7_13() -> None:
    info = FastMath().info
    assert (info.opt_level, tuple(info.required)) == (4, ("InferType",))
    before = module(relay.exp(x))
    for context, runs in (
        (PassContext(opt_level=3), False),
        (PassContext(opt_level=4), True),
        (PassContext(opt_level=3, required_pass=["FastMath"]), True),
    ):
        with context:
            after = Sequential([FastMath()])(before)
        assert ("fast_exp" in after.astext()) == runs


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_programs_are_approximated(depth: int) -> None:
    expr: Expr = x
    for _ in range(depth // 4):
        expr = relay.exp(expr)
    after = FastMathReplacer().visit(expr)
    assert isinstance(after, Call)
    assert after.op is relay.op.get("fast_exp")
