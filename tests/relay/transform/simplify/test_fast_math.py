from __future__ import annotations

from collections.abc import Callable

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.structure.structural import assert_structural_equal
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.transform import FastMath, InferType
from parpass.relay.transform.simplify.fast_math import FastMathReplacer
from parpass.relay.typing.infer import infer_type
from parpass.transform import PassContext, Sequential
from tests.support.deep import DEPTHS
from tests.support.docs import shows
from tests.support.meaning import assert_keeps_meaning

x = relay.var("x", shape=(3,))
grid = relay.var("grid", shape=(2, 5))


def module(body: Expr) -> IRModule:
    return IRModule.from_expr(Function((x, grid), body))


def test_the_documented_program_is_approximated() -> None:
    before, after = relay.tanh(x), relay.fast_tanh(x)
    programs = (IRModule.from_expr(Function((x,), body)) for body in (before, after))
    assert shows(FastMath, *programs)


@pytest.mark.parametrize(
    ("slow", "fast"),
    [
        (relay.exp, relay.fast_exp),
        (relay.erf, relay.fast_erf),
        (relay.tanh, relay.fast_tanh),
        (relay.nn.softmax, relay.nn.fast_softmax),
    ],
)
def test_functions_become_approximations_that_are_close(
    slow: Callable[[Expr], Call], fast: Callable[[Expr], Call]
) -> None:
    after = assert_keeps_meaning(FastMath(), module(slow(grid)), rtol=1e-2, atol=1e-3)
    assert_structural_equal(after, InferType()(module(fast(grid))))


def test_the_axis_of_softmax_is_kept() -> None:
    after = FastMath()(InferType()(module(relay.nn.softmax(grid, axis=0))))
    expected = module(relay.nn.fast_softmax(grid, axis=0))
    assert_structural_equal(after, InferType()(expected))


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


def test_other_programs_are_the_same_objects() -> None:
    function = infer_type(Function((x,), relay.log(x)))
    assert FastMathReplacer().visit(function) is function


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_programs_are_approximated(depth: int) -> None:
    expr: Expr = x
    for _ in range(depth // 4):
        expr = relay.exp(expr)
    after = FastMathReplacer().visit(expr)
    assert isinstance(after, Call)
    assert after.op is relay.op.get("fast_exp")
