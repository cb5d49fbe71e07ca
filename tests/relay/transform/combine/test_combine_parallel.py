"""Joining parallel convolutions and products: structure as in TVM, and meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structure.structural import assert_structural_equal
from parpass.relay.expr import Call, Expr, Function, If, Let, Tuple, Var
from parpass.relay.transform import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
    InferType,
)
from parpass.relay.transform.combine.combine_parallel_dense import DenseToDenseCombiner
from parpass.relay.typing.infer import infer_type
from parpass.runner import Runner
from parpass.transform import Pass, PassContext
from tests.support.docs import shows
from tests.support.meaning import assert_keeps_meaning, assert_parallel_is_serial

CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def tensors(**shapes: tuple[int, ...]) -> list[Var]:
    return [relay.var(name, shape=shape) for name, shape in shapes.items()]


def module(params: Sequence[Var], *results: Expr) -> IRModule:
    return IRModule.from_expr(Function(tuple(params), Tuple(results)))


def becomes(a_pass: Pass, before: IRModule, expected: IRModule) -> None:
    after = assert_keeps_meaning(a_pass, before, **CLOSE)
    assert_structural_equal(after, InferType()(expected))


def stays(a_pass: Pass, before: IRModule) -> None:
    typed = InferType()(before)
    assert a_pass(typed)["main"] is typed["main"]


def cut(data: Expr, begin: list[int], end: list[int]) -> Expr:
    ones = [1] * len(begin)
    return relay.strided_slice(data, begin, end, ones, slice_mode="size")


def calls(mod: IRModule, name: str) -> int:
    op = relay.op.get(name)
    return sum(getattr(node, "op", None) is op for node in post_order(mod["main"]))


x, v, w = tensors(x=(1, 2, 4, 4), v=(3, 2, 1, 1), w=(5, 2, 1, 1))
conv2 = CombineParallelConv2D(min_num_branches=2)


def test_the_documented_convolutions_become_one() -> None:
    before = module([x, v, w], relay.nn.conv2d(x, v), relay.nn.conv2d(x, w))
    joined = relay.nn.conv2d(x, relay.concatenate((v, w), axis=0), channels=8)
    parts = cut(joined, [0, 0], [-1, 3]), cut(joined, [0, 3], [-1, 5])
    becomes(conv2, before, module([x, v, w], *parts))
    assert shows(CombineParallelConv2D, before, module([x, v, w], *parts))


def test_convolutions_with_other_kernels_are_left_alone() -> None:
    (u,) = tensors(u=(4, 2, 3, 3))
    others = relay.nn.conv2d(x, u), relay.nn.max_pool2d(x)
    before = module([x, v, u, w], relay.nn.conv2d(x, v), *others, relay.nn.conv2d(x, w))
    joined = relay.nn.conv2d(x, relay.concatenate((v, w), axis=0), channels=8)
    parts = cut(joined, [0, 0], [-1, 3]), cut(joined, [0, 3], [-1, 5])
    becomes(conv2, before, module([x, v, u, w], parts[0], *others, parts[1]))


def test_what_comes_behind_is_joined_along_the_channels() -> None:
    s, t, b = tensors(s=(3, 1, 1), t=(5, 1, 1), b=(5, 1, 1))
    params = [x, v, w, s, t, b]

    def branch(weight: Expr, scale: Expr) -> Expr:
        return relay.nn.relu(relay.multiply(relay.nn.conv2d(x, weight), scale))

    before = module(params, branch(v, s), relay.add(branch(w, t), b))
    data = relay.nn.conv2d(x, relay.concatenate((v, w), axis=0), channels=8)
    scaled = relay.multiply(data, relay.concatenate((s, t), axis=0))
    relu = relay.nn.relu(scaled)
    parts = cut(relu, [0, 0], [-1, 3]), cut(relu, [0, 3], [-1, 5])
    becomes(conv2, before, module(params, parts[0], relay.add(parts[1], b)))


def test_a_scale_that_is_no_channel_vector_is_applied_to_the_parts() -> None:
    s, t = tensors(s=(1,), t=(1,))
    before = module(
        [x, v, w, s, t],
        relay.multiply(relay.nn.conv2d(x, v), s),
        relay.multiply(relay.nn.conv2d(x, w), t),
    )
    after = assert_keeps_meaning(conv2, before, **CLOSE)
    assert calls(after, "nn.conv2d") == 1
    assert calls(after, "multiply") == 2


def test_each_block_of_a_network_is_joined() -> None:
    data, weight = tensors(data=(1, 4, 3, 3), weight=(2, 4, 1, 1))
    expr: Expr = data
    for _ in range(4):
        branches = relay.nn.conv2d(expr, weight), relay.nn.conv2d(expr, weight)
        expr = relay.concatenate(branches, axis=1)
    after = assert_keeps_meaning(conv2, module([data, weight], expr), **CLOSE)
    assert calls(after, "nn.conv2d") == 4


def conv_pair(**attrs: Any) -> IRModule:
    second = relay.nn.conv2d(x, w, **attrs)
    return module([x, v, w], relay.nn.conv2d(x, v), second)


def depends() -> IRModule:
    (u,) = tensors(u=(1, 1, 1, 1))
    first = relay.nn.conv2d(x, v)
    weight = relay.multiply(w, relay.reshape(relay.sum(first), (1, 1, 1, 1)))
    return module([x, v, w, u], first, relay.nn.conv2d(x, weight))


def in_branches() -> IRModule:
    cond = relay.var("cond", "bool")
    body = If(cond, relay.nn.conv2d(x, v), relay.nn.conv2d(x, v))
    return IRModule.from_expr(Function((cond, x, v), body))


def in_let() -> IRModule:
    name = relay.var("name")
    body = Let(name, relay.nn.conv2d(x, v), Tuple((name, relay.nn.conv2d(x, w))))
    return IRModule.from_expr(Function((x, v, w), body))


@pytest.mark.parametrize(
    ("a_pass", "before"),
    [
        (CombineParallelConv2D(), conv_pair()),
        (conv2, conv_pair(strides=2)),
        (conv2, conv_pair(padding=1)),
        (conv2, depends()),
        (conv2, in_branches()),
        (conv2, in_let()),
    ],
)
def test_what_does_not_go_together_stays(a_pass: Pass, before: IRModule) -> None:
    stays(a_pass, before)


def test_three_branches_are_the_least_unless_said_otherwise() -> None:
    results = (relay.nn.conv2d(x, weight) for weight in (v, w, v))
    before = module([x, v, w], *results)
    after = assert_keeps_meaning(CombineParallelConv2D(), before, **CLOSE)
    assert calls(after, "nn.conv2d") == 1


d, e, f, g = tensors(d=(2, 4), e=(3, 4), f=(3, 4), g=(6, 4))
batch2 = CombineParallelDense(min_num_branches=2)
flat2 = CombineParallelDense(min_num_branches=2, to_batch=False)


def squeezed(data: Expr, count: int) -> list[Expr]:
    return [relay.squeeze(part, axis=[0]) for part in relay.split(data, count)]


def test_the_documented_products_become_a_batch() -> None:
    before = module([d, e, f], relay.nn.dense(d, e), relay.nn.dense(d, f))
    data, weight = relay.stack((d, d), axis=0), relay.stack((e, f), axis=0)
    parts = squeezed(relay.nn.batch_matmul(data, weight), 2)
    becomes(batch2, before, module([d, e, f], *parts))
    assert shows(CombineParallelDense, before, module([d, e, f], *parts))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1,)])
def test_biases_and_scales_are_stacked(shape: tuple[int, ...]) -> None:
    b, c = tensors(b=shape, c=shape)
    params = [d, e, f, g, b, c]

    def branch(weight: Expr, bias: Expr) -> Expr:
        return relay.reshape(relay.nn.dense(d, weight) + bias, (1, 6))

    other = relay.nn.dense(d, g)
    before = module(params, branch(e, b), other, branch(f, c))
    data, weight = relay.stack((d, d), axis=0), relay.stack((e, f), axis=0)
    rows = (b, c) if len(shape) > 1 else [relay.expand_dims(it, 0) for it in (b, c)]
    batch = relay.nn.batch_matmul(data, weight) + relay.stack(rows, axis=0)
    one, two = (relay.reshape(part, (1, 6)) for part in squeezed(batch, 2))
    becomes(batch2, before, module(params, one, other, two))


def test_products_of_other_units_are_put_end_to_end() -> None:
    before = module([d, e, g], relay.nn.dense(d, e), relay.nn.dense(d, g))
    joined = relay.nn.dense(d, relay.concatenate((e, g), axis=0), units=9)
    parts = cut(joined, [0, 0], [-1, 3]), cut(joined, [0, 3], [-1, 6])
    becomes(flat2, before, module([d, e, g], *parts))


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


def test_the_cut_follows_new_axes() -> None:
    before = module(
        [d, e, g],
        *(relay.expand_dims(relay.nn.dense(d, it), axis=2) for it in (e, g)),
    )
    joined = relay.nn.dense(d, relay.concatenate((e, g), axis=0), units=9)
    wide = relay.expand_dims(joined, axis=2)
    parts = cut(wide, [0, 0, 0], [-1, 3, -1]), cut(wide, [0, 3, 0], [-1, 6, -1])
    becomes(flat2, before, module([d, e, g], *parts))


def test_data_of_more_axes_is_joined_flat_only() -> None:
    (data,) = tensors(data=(5, 2, 4))
    before = module([data, e, f], relay.nn.dense(data, e), relay.nn.dense(data, f))
    stays(batch2, before)
    after = assert_keeps_meaning(flat2, before, **CLOSE)
    assert calls(after, "nn.dense") == 1


m, n, o = tensors(m=(2, 3, 4), n=(2, 5, 4), o=(2, 6, 4))
matmul2 = CombineParallelBatchMatmul(min_num_branches=2)


def test_the_documented_batches_become_one() -> None:
    before = module([m, n, o], *(relay.nn.batch_matmul(m, it) for it in (n, o)))
    joined = relay.nn.batch_matmul(m, relay.concatenate((n, o), axis=1))
    parts = (
        cut(joined, [0, 0, 0], [-1, -1, 5]),
        cut(joined, [0, 0, 5], [-1, -1, 6]),
    )
    becomes(matmul2, before, module([m, n, o], *parts))
    assert shows(CombineParallelBatchMatmul, before, module([m, n, o], *parts))


def test_biases_of_batches_are_put_end_to_end() -> None:
    b, c = tensors(b=(5,), c=(6,))
    before = module(
        [m, n, o, b, c],
        relay.nn.batch_matmul(m, n) + b,
        relay.nn.batch_matmul(m, o) + c,
    )
    joined = relay.nn.batch_matmul(m, relay.concatenate((n, o), axis=1))
    joined = joined + relay.concatenate((b, c), axis=-1)
    parts = (
        cut(joined, [0, 0, 0], [-1, -1, 5]),
        cut(joined, [0, 0, 5], [-1, -1, 6]),
    )
    becomes(matmul2, before, module([m, n, o, b, c], *parts))


def test_right_sides_that_are_not_transposed_are_joined_too() -> None:
    r, s = tensors(r=(2, 4, 5), s=(2, 4, 6))
    before = module(
        [m, r, s],
        *(relay.nn.batch_matmul(m, it, transpose_b=False) for it in (r, s)),
    )
    after = assert_keeps_meaning(matmul2, before, **CLOSE)
    assert calls(after, "nn.batch_matmul") == 1


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


def test_what_was_joined_is_counted() -> None:
    before = InferType()(module([d, e, f], relay.nn.dense(d, e), relay.nn.dense(d, f)))
    with PassContext() as context:
        batch2(before)
    assert context.statistics["CombineParallelDense"]["combined"] == 2


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
