from __future__ import annotations

import pytest
from hypothesis import given

from parpass import relay
from parpass.ir.module import IRModule
from parpass.relay.analysis import well_formed
from parpass.relay.expr import Expr, Function
from parpass.relay.transform import (
    DefuseOps,
    FunctionsFromFusion,
    FuseOps,
    InferType,
    RemoveUnusedFunctions,
)
from parpass.transform import Sequential
from tests.support.drawn import HIGHER_ORDER
from tests.support.profiles import examples
from tests.support.relay.meaning import assert_keeps_meaning

X = relay.var("x", shape=(10, 20))


def fused(body: Expr, *params: relay.Var) -> IRModule:
    return FuseOps()(IRModule({"main": Function(params or (X,), body)}))


def test_names_have_an_end() -> None:
    body: Expr = X
    for _ in range(200):
        body = relay.exp(body)
    lifted = FunctionsFromFusion()(fused(body))
    assert len(list(lifted.functions_by_name)[1]) == 80


@pytest.mark.slow
@given(mod=HIGHER_ORDER)
@examples(0.3)
def test_lifting_and_undoing_it_keep_the_meaning(mod: IRModule) -> None:
    lifted = assert_keeps_meaning(FunctionsFromFusion(), FuseOps()(InferType()(mod)))
    names = list(mod.functions_by_name)
    undo = [DefuseOps(), RemoveUnusedFunctions(names)]
    undone = assert_keeps_meaning(Sequential(undo), lifted)
    assert well_formed(undone)
