from __future__ import annotations

import pytest
from hypothesis import given, settings

from parpass import relay
from parpass.ir.module import IRModule
from parpass.relay.analysis import well_formed
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.transform import (
    DefuseOps,
    FunctionsFromFusion,
    FuseOps,
    InferType,
    RemoveUnusedFunctions,
)
from parpass.transform import Sequential
from tests.support.docs import shows
from tests.support.higher_order import higher_order_modules
from tests.support.meaning import assert_keeps_meaning

X = relay.var("x", shape=(10, 20))
W = relay.var("w", shape=(20, 20))


def fused(body: Expr, *params: relay.Var) -> IRModule:
    return FuseOps()(IRModule({"main": Function(params or (X,), body)}))


def test_the_documented_program() -> None:
    before = fused(relay.exp(X + relay.const(1.0)))
    assert shows(FunctionsFromFusion, before, FunctionsFromFusion()(before))


def test_functions_that_are_equal_become_one() -> None:
    layers: Expr = X
    for _ in range(3):
        layers = relay.nn.relu(relay.nn.dense(layers, W))
    lifted = FunctionsFromFusion()(fused(layers, X, W))
    assert list(lifted.functions_by_name) == ["main", "fused_nn_dense_nn_relu"]


def test_functions_of_the_same_operators_are_numbered() -> None:
    body: Expr = X
    for axis in (0, 1, 0):
        body = relay.nn.softmax(body, axis=axis)
    taken = fused(body)
    taken["fused_nn_softmax_1"] = Function((X,), X)
    lifted = FunctionsFromFusion()(taken)
    assert list(lifted.functions_by_name) == [
        "main",
        "fused_nn_softmax_1",
        "fused_nn_softmax",
        "fused_nn_softmax_2",
    ]


def test_names_have_an_end() -> None:
    body: Expr = X
    for _ in range(200):
        body = relay.exp(body)
    lifted = FunctionsFromFusion()(fused(body))
    assert len(list(lifted.functions_by_name)[1]) == 80


def test_a_function_with_free_variables_stays() -> None:
    closure = Function((), relay.exp(X), attrs={"Primitive": 1})
    mod = IRModule({"main": Function((X,), Call(closure, ()))})
    assert FunctionsFromFusion()(mod) is mod


def test_a_module_without_primitive_functions_is_unchanged() -> None:
    mod = IRModule({"main": Function((X,), relay.exp(X))})
    assert FunctionsFromFusion()(mod) is mod


@pytest.mark.slow
@given(mod=higher_order_modules())
@settings(deadline=None, max_examples=6)
def test_lifting_and_undoing_it_keep_the_meaning(mod: IRModule) -> None:
    lifted = assert_keeps_meaning(FunctionsFromFusion(), FuseOps()(InferType()(mod)))
    names = list(mod.functions_by_name)
    undo = [DefuseOps(), RemoveUnusedFunctions(names)]
    undone = assert_keeps_meaning(Sequential(undo), lifted)
    assert well_formed(undone)
