"""SimplifyExpr: rules times operators; rule by rule in `tests/cases`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from parpass import relay
from parpass.diagnostic import Span
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Call, Expr, Function, Var
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform import InferType, SimplifyExpr
from parpass.relay.transform.simplify.simplify_expr import simplify_expr
from parpass.relay.type_inference.infer import infer_type
from parpass.runner import Runner
from tests.support.relay.meaning import assert_keeps_meaning, assert_parallel_is_serial

DEEP = 20_000


def var(name: str, *shape: Any, dtype: str = "float32") -> Var:
    return relay.var(name, shape=shape, dtype=dtype)


def module(params: tuple[Var, ...], body: Expr) -> IRModule:
    return IRModule.from_expr(Function(params, body))


def becomes(before: Expr, expected: Expr) -> None:
    params = tuple(free_vars(before))
    after = assert_keeps_meaning(SimplifyExpr(), module(params, before))
    assert_structural_equal(after, InferType()(module(params, expected)))


x = var("x", 2, 6)
reshape = relay.reshape


NEUTRAL: list[tuple[Callable[[Any, Any], Expr], float]] = [
    (relay.subtract, 0.0),
    (relay.multiply, 1.0),
    (relay.divide, 1.0),
]


@pytest.mark.parametrize(("op", "value"), NEUTRAL)
def test_neutral_elements_go(op: Callable[[Any, Any], Expr], value: float) -> None:
    like = relay.ones_like if value else relay.zeros_like
    made = relay.ones if value else relay.zeros
    row = relay.full(relay.const(value), (6,))
    for neutral in (relay.const(value), like(x), made((2, 6), "float32"), row):
        becomes(op(x, neutral), x)
    if op is relay.multiply:
        becomes(op(relay.const(value), x), x)
        becomes(op(like(x), x), x)


@pytest.mark.parametrize(
    "op", [relay.add, relay.subtract, relay.multiply, relay.divide]
)
@pytest.mark.parametrize("value", [2.0, 3.0])
def test_tensors_of_one_value_become_scalars(
    op: Callable[[Any, Any], Expr], value: float
) -> None:
    scalar = relay.const(value)
    for full in (relay.full(scalar, (2, 6)), relay.full_like(x, scalar)):
        becomes(op(full, x), op(scalar, x))
        becomes(op(x, full), op(x, scalar))
    wide = relay.full(scalar, (3, 2, 6))
    becomes(op(x, wide), op(x, wide))
    other = relay.const(value, "float64")
    cast = relay.full(other, (2, 6), "float32")
    becomes(op(x, relay.full_like(x, other)), op(x, cast))


values = [np.random.default_rng(seed).random(6, "float32") for seed in range(3)]
c, d, e = (relay.const(value) for value in values)


def test_a_small_product_of_a_sum_of_half_floats_stays_small() -> None:
    data = var("data", 2, dtype="float16")
    less, hundred = (relay.const(np.array(one, "float16")) for one in (-600, 100))
    product = (data + less) * hundred
    given = np.array([1000, 640], "float16")
    for exact in (True, False):
        typed = infer_type(Function((data,), product))
        body = simplify_expr(typed, exact=exact).body
        found = evaluate(Function((data,), body), [given])
        assert found.tolist() == [40000, 4000]


def test_constants_are_not_put_together_to_what_is_too_large() -> None:
    wide = var("wide", 2**20, 2**20, dtype="int32")
    column, row = (
        relay.const(np.arange(2**20, dtype="int32").reshape(shape))
        for shape in ((-1, 1), (1, -1))
    )
    body = wide + column + row
    typed = InferType()(module(tuple(free_vars(body)), body))
    assert SimplifyExpr()(typed)["main"] is typed["main"]


def test_a_result_keeps_the_place_of_what_it_replaces() -> None:
    span = Span("model", 3, 3, 1, 9)
    outer = Call(relay.op.get("reshape"), (reshape(x, (3, 4)),), ATTRS, span=span)
    after = simplify_expr(infer_type(Function((x,), outer)))
    assert cast("Call", after.body).span == span


ATTRS = reshape(x, (12,)).attrs


def test_it_is_at_level_0_and_needs_types_7_13() -> None:
    info = SimplifyExpr().info
    assert (info.opt_level, tuple(info.required)) == (0, ("InferType",))


@pytest.mark.slow
def test_workers_make_the_same_of_it(runner: Runner) -> None:
    mod = IRModule()
    for number in range(4):
        mod[f"f{number}"] = Function((x,), (x + c) * d + e)
    assert_parallel_is_serial(runner, SimplifyExpr(exact=False), mod)


@pytest.mark.slow
@pytest.mark.parametrize(
    "depth", [DEEP // 10, pytest.param(DEEP, marks=pytest.mark.stress)]
)
def test_chains_of_any_length_become_one_operator(depth: int) -> None:
    expr: Expr = x
    for _ in range(depth):
        expr = reshape(expr, (3, 4)) * relay.const(1.0)
    after = simplify_expr(infer_type(Function((x,), expr)))
    assert len(post_order(after)) == 4  # the function, its parameter, one call
