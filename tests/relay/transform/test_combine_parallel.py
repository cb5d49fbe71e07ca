"""Joining parallel convolutions and products: what shapes and depth do to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.relay.expr import Call, Expr, Function, Tuple, Var
from parpass.relay.transform import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
)
from parpass.relay.transform.combine_parallel import DenseToDenseCombiner
from parpass.relay.type_inference.infer import infer_type
from parpass.runner import Runner
from parpass.transform import Pass
from tests.support.relay.meaning import assert_keeps_meaning, assert_parallel_is_serial

CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def tensors(**shapes: tuple[int, ...]) -> list[Var]:
    return [relay.var(name, shape=shape) for name, shape in shapes.items()]


def module(params: Sequence[Var], *results: Expr) -> IRModule:
    return IRModule.from_expr(Function(tuple(params), Tuple(results)))


def calls(mod: IRModule, name: str) -> int:
    op = relay.op.get(name)
    return sum(getattr(node, "op", None) is op for node in post_order(mod["main"]))


x, v, w = tensors(x=(1, 2, 4, 4), v=(3, 2, 1, 1), w=(5, 2, 1, 1))
conv2 = CombineParallelConv2D(min_num_branches=2)


def test_each_block_of_a_network_is_joined() -> None:
    data, weight = tensors(data=(1, 4, 3, 3), weight=(2, 4, 1, 1))
    expr: Expr = data
    for _ in range(4):
        branches = relay.nn.conv2d(expr, weight), relay.nn.conv2d(expr, weight)
        expr = relay.concatenate(branches, axis=1)
    after = assert_keeps_meaning(conv2, module([data, weight], expr), **CLOSE)
    assert calls(after, "nn.conv2d") == 4


d, e, g = tensors(d=(2, 4), e=(3, 4), g=(6, 4))
flat2 = CombineParallelDense(min_num_branches=2, to_batch=False)


@pytest.mark.parametrize(
    ("one", "two", "joined"),
    [
        ((), (), True),
        ((1,), (1,), True),
        ((3,), (1,), True),
        ((1,), (6,), True),
        ((2, 1), (2, 6), True),
        ((7, 2, 3), (7, 2, 1), True),
        ((2, 3), (1, 6), False),
        ((3,), (), False),
    ],
)
def test_operands_of_one_element_are_repeated(
    one: tuple[int, ...], two: tuple[int, ...], joined: bool
) -> None:
    b, c = tensors(b=one, c=two)
    before = module([d, e, g, b, c], relay.nn.dense(d, e) + b, relay.nn.dense(d, g) + c)
    after = assert_keeps_meaning(flat2, before, **CLOSE)
    assert calls(after, "nn.dense") == 1
    assert calls(after, "add") == (1 if joined else 2)


@pytest.mark.parametrize(
    ("factory", "name"),
    [
        (CombineParallelConv2D, "CombineParallelConv2d"),
        (CombineParallelDense, "CombineParallelDense"),
        (CombineParallelBatchMatmul, "CombineParallelBatchMatmul"),
    ],
)
def test_levels_names_and_needs_are_tvms_7_13(
    factory: Callable[[], Pass], name: str
) -> None:
    info = factory().info
    assert (info.name, info.opt_level, tuple(info.required)) == (
        name,
        4,
        ("InferType",),
    )


@pytest.mark.slow
def test_workers_make_the_same_of_it(runner: Runner) -> None:
    mod = IRModule()
    for number in range(4):
        body = Tuple((relay.nn.conv2d(x, v), relay.nn.conv2d(x, w)))
        mod[f"f{number}"] = Function((x, v, w), body)
    assert_parallel_is_serial(runner, conv2, mod)


@pytest.mark.slow
@pytest.mark.parametrize(
    "depth", [3_000, pytest.param(50_000, marks=pytest.mark.stress)]
)
def test_deep_programs_are_joined(depth: int) -> None:
    weight = relay.var("weight", shape=(4, 4))
    expr: Expr = d
    for _ in range(depth):
        expr = relay.nn.dense(expr, weight) + relay.nn.dense(expr, weight)
    typed = infer_type(Function((d, weight), expr))
    after, count = DenseToDenseCombiner(2).run(typed)
    assert count == 2 * depth
    assert isinstance(after.body, Call)
