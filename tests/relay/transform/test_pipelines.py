from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from examples.real_networks import example_input, load
from parpass import relay
from parpass.errors import ArgumentError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.relay.analysis import node_count
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform import (
    DefuseOps,
    FunctionsFromFusion,
    InferType,
    OutlineSegments,
    default_pipeline,
)
from parpass.runner import Runner
from parpass.transform import PassContext, Sequential, parse_pipeline, print_pipeline
from tests.support.drawn import HIGHER_ORDER
from tests.support.onnx.models import imported
from tests.support.profiles import examples
from tests.support.relay.meaning import assert_keeps_meaning, assert_parallel_is_serial

LEVELS = range(5)


def names(level: int) -> set[str]:
    return {one.info.name for one in default_pipeline(level).passes if one is not None}


def test_each_level_has_the_passes_of_those_below() -> None:
    for level in LEVELS[1:]:
        assert names(level - 1) <= names(level)
    assert names(0) == {"InferType", "SimplifyInference", "SimplifyExpr", "FuseOps"}
    assert "FoldConstant" not in names(1)
    assert "FoldConstant" in names(2)
    assert "FoldScaleAxis" not in names(2)
    assert "FoldScaleAxis" in names(3)
    assert "CombineParallelConv2d" in names(4) - names(3)


def normalised_convolution() -> IRModule:
    """Return a convolution with its statistics known, of two common subexpressions."""
    x, w = relay.var("x", shape=(1, 2, 6, 6)), relay.var("w", shape=(2, 2, 3, 3))
    gamma, beta, mean, var = (relay.const([0.5, 2.0]) for _ in range(4))
    body: Expr = relay.nn.batch_norm(relay.nn.conv2d(x, w), gamma, beta, mean, var)[0]
    return IRModule({"main": Function((x, w), body + (body * relay.const(1.0)))})


def products(mod: IRModule) -> int:
    calls = [node for node in post_order(mod["main"]) if isinstance(node, Call)]
    return sum(call.op is relay.op.get("multiply") for call in calls)


def test_the_level_counts_and_not_the_contexts() -> None:
    mod = normalised_convolution()
    with PassContext(opt_level=0):
        assert products(default_pipeline(3)(mod)) < products(default_pipeline(0)(mod))


def test_a_disabled_pass_does_not_run() -> None:
    mod = normalised_convolution()
    with PassContext(disabled_pass=["FuseOps"]):
        functions = post_order(default_pipeline(3)(mod)["main"].body)
    assert not any(isinstance(node, Function) for node in functions)


def test_entry_functions_are_kept_and_others_dropped() -> None:
    mod = normalised_convolution()
    mod["unused"] = mod["main"]
    kept = default_pipeline(1, entry_functions=["main"])(mod)
    assert list(kept.functions_by_name) == ["main"]
    assert len(default_pipeline(1)(mod)) == 2


def network(blocks: int) -> IRModule:
    """Return normalised convolutions, one after the other, typed."""
    x = relay.var("x", shape=(1, 2, 6, 6))
    body: Expr = x
    for _ in range(blocks):
        scale, shift, mean, var = (relay.const([0.5, 2.0]) for _ in range(4))
        weight = relay.const(np.ones((2, 2, 1, 1), "float32"))
        convolved = relay.nn.conv2d(body, weight)
        norm = relay.nn.batch_norm(convolved, scale, shift, mean, var)
        body = relay.nn.relu(norm[0])
    return InferType()(IRModule({"main": Function((x,), body)}))


SMALL = {"relay.OutlineSegments.min_nodes": 400}


@pytest.mark.slow
def test_a_large_function_is_cut_and_put_together_again_from_level_2_on() -> None:
    mod = network(60)
    image = np.linspace(-1, 1, 72, dtype="float32").reshape(1, 2, 6, 6)
    for level in (1, 2, 3):
        whole = default_pipeline(level)(mod)
        with PassContext(config=SMALL) as context:
            after = default_pipeline(level)(mod)
        assert ("OutlineSegments" in context.statistics) == (level > 1)
        assert list(after.functions_by_name) == ["main"]
        assert node_count(after) == node_count(whole)
        got, expected = (evaluate(it["main"], [image], it) for it in (after, whole))
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-30)


@pytest.mark.slow
def test_a_large_function_stays_whole_or_in_segments_if_asked_to() -> None:
    mod = network(60)
    with PassContext(config=SMALL, disabled_pass=["OutlineSegments"]) as context:
        default_pipeline(2)(mod)
    assert "OutlineSegments" not in context.statistics
    with PassContext(config=SMALL, disabled_pass=["InlineSegments"]):
        assert len(default_pipeline(2)(mod)) > 3


@pytest.mark.parametrize("level", [-1, "3", 1.0])
def test_a_level_is_an_int_from_0_on(level: object) -> None:
    with pytest.raises(ArgumentError, match=r"^expected a level from 0 on, got "):
        default_pipeline(level)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("level", LEVELS)
def test_a_pipeline_has_a_name_in_text_and_a_text(level: int) -> None:
    text = print_pipeline(default_pipeline(level))
    by_name = parse_pipeline(f"DefaultPipeline{{opt-level={level}}}")
    assert text in print_pipeline(by_name)
    with PassContext(opt_level=level):
        assert_structural_equal(
            parse_pipeline(text)(normalised_convolution()),
            by_name(normalised_convolution()),
        )


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 3])
@given(mod=HIGHER_ORDER)
@examples(0.3)
def test_each_level_keeps_the_meaning(level: int, mod: IRModule) -> None:
    assert_keeps_meaning(default_pipeline(level), mod, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_workers_make_the_same_of_a_module(runner: Runner) -> None:
    mod = normalised_convolution()
    several = IRModule({f"f{at}": mod["main"] for at in range(6)})
    assert_parallel_is_serial(runner, default_pipeline(3), several)


@pytest.mark.slow
def test_workers_make_the_same_of_a_function_that_is_cut(runner: Runner) -> None:
    passes = [
        OutlineSegments(400) if isinstance(one, OutlineSegments) else one
        for one in default_pipeline(3).passes
    ]
    mod = network(50)
    with PassContext() as context:
        assert_parallel_is_serial(runner, Sequential(passes), mod)
    assert context.statistics["OutlineSegments"]["segments"] > 3


@pytest.mark.slow
def test_a_network_gives_the_same_optimised_and_cut_into_functions() -> None:
    model = load("squeezenet")
    (image,) = example_input(model).values()
    mod = InferType()(imported(model))
    expected = np.asarray(evaluate(mod["main"], [image], mod))
    parted = FunctionsFromFusion()(default_pipeline(3)(mod))
    assert len(parted) > 20
    for result in (parted, DefuseOps()(parted)):
        got = np.asarray(evaluate(result["main"], [image], result))
        atol = 1e-4 * float(expected.max())
        np.testing.assert_allclose(got, expected, atol=atol, rtol=0)
