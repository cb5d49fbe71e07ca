from __future__ import annotations

import re

import numpy as np
import pytest

from examples.real_networks import example_input, load
from parpass import relay
from parpass.errors import ArgumentError, UnknownPassError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Tuple, TupleGetItem, var
from parpass.relay.frontend.onnx import from_onnx
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.text.parser import parse
from parpass.relay.transform import (
    EliminateCommonSubexpr,
    InferType,
    InlineSegments,
    OutlineSegments,
    SimplifyInference,
    function_pass,
)
from parpass.runner import Runner
from parpass.transform import PassContext, Sequential, parse_pipeline, print_pipeline
from tests.support.relay.effects import effect, observed, read
from tests.support.relay.meaning import assert_parallel_is_serial

VECTOR = TensorType((3,))
x, y, c = var("x", VECTOR), var("y", VECTOR), var("c", "bool")
SEGMENT = GlobalVar("main_segment0")


def segment(body: Expr, of: str = "main") -> Function:
    return Function((y,), body, attrs={"Segment": of})


def module(body: Expr, inner: Function) -> IRModule:
    functions = {SEGMENT: inner, "main": Function((x, c), body)}
    return InferType()(IRModule(functions))


def put_back(mod: IRModule) -> IRModule:
    return InferType()(InlineSegments()(mod))


def test_effects_that_a_pass_brought_in_keep_their_order() -> None:
    fields = Tuple((effect(y), read(y)))
    given = Call(SEGMENT, (effect(x),))
    mod = module(TupleGetItem(given, 1) + TupleGetItem(given, 0), segment(fields))
    (value, wrote), (expected, written) = (
        observed(one, "main") for one in (put_back(mod), mod)
    )
    np.testing.assert_array_equal(value, expected)
    assert wrote == written


def test_only_what_was_put_together_runs_again() -> None:
    mod = module(Call(SEGMENT, (x,)), segment(relay.exp(y)))
    mod["other"] = Function((x,), relay.exp(x) + relay.exp(x))
    typed = InferType()(mod)
    after = InlineSegments(again=["EliminateCommonSubexpr"])(typed)
    assert after["other"] is typed["other"]


def test_its_options_have_a_text() -> None:
    text = print_pipeline(InlineSegments(again=["SimplifyExpr", "FoldConstant"]))
    again = parse_pipeline(text)
    assert print_pipeline(again) == text
    assert "SimplifyExpr" in text


def test_what_runs_again_is_a_list_of_names_of_passes() -> None:
    with pytest.raises(ArgumentError):
        InlineSegments(again=[1])  # pyright: ignore[reportArgumentType]
    mod = module(Call(SEGMENT, (x,)), segment(relay.exp(y)))
    with pytest.raises(UnknownPassError):
        InlineSegments(again=["NoSuchPass"])(mod)


def test_an_error_names_the_segment() -> None:
    @function_pass(opt_level=0)
    def stumbles(func: Function, _mod: IRModule, _ctx: PassContext) -> Function:
        if any(node is floor for node in post_order(func)):
            raise ValueError("no")
        return func

    floor = relay.op.get("floor")
    body: Expr = x
    for at in range(12):
        body = relay.exp(body) if at < 11 else relay.floor(body)
    mod = IRModule({"main": Function((x,), body)})
    passes = Sequential([OutlineSegments(5, 6), stumbles, InlineSegments()])
    with pytest.raises(ValueError, match="no") as caught:
        passes(mod)
    [where] = caught.value.__notes__
    assert re.fullmatch(r"in pass 'stumbles', on function 'main_segment\d'", where)


def test_segments_have_a_text() -> None:
    mod = module(Call(SEGMENT, (x,)), segment(relay.exp(y)))
    assert_structural_equal(InferType()(parse(mod.astext())), mod)


@pytest.mark.slow
def test_a_network_gives_the_same_in_segments(runner: Runner) -> None:
    model = load("squeezenet")
    (image,) = example_input(model).values()
    mod = InferType()(from_onnx(model, freeze_params=True)[0])
    parts = OutlineSegments(100, 20)(mod)
    assert len(parts) > 6
    assert_structural_equal(InlineSegments()(parts), mod)
    expected = np.asarray(evaluate(mod["main"], [image], mod))
    got = np.asarray(evaluate(parts["main"], [image], parts))
    np.testing.assert_array_equal(got, expected)
    passes = [SimplifyInference(), EliminateCommonSubexpr(), InlineSegments()]
    cutting = Sequential([OutlineSegments(100, 20), *passes])
    assert_parallel_is_serial(runner, cutting, mod)
