from __future__ import annotations

from typing import Any

import pytest

from parpass import relay
from parpass.errors import IRTypeError
from parpass.ir.module import IRModule
from parpass.ir.types import TensorType
from parpass.relay.expr import Expr, Function, GlobalVar, If, Var
from parpass.relay.transform import InferType, ToCPS, UnCPS, to_cps, un_cps
from parpass.relay.typing.infer import infer_type
from tests.support.deep import COND, X, calls, function_of

SCALAR = TensorType((), "float32")
S = Var("x", SCALAR)


def test_global_functions_get_counterparts_in_the_module() -> None:
    twice, mod = GlobalVar("twice"), IRModule()
    mod[twice] = Function((S,), relay.add(S, S))
    x = relay.var("x", "float32")
    mod["main"] = Function((x,), twice(twice(x)))
    made = to_cps(mod["main"], mod)
    assert list(mod.functions_by_name) == ["twice", "main", "twice_cps"]
    mod["main"] = un_cps(infer_type(made, mod))
    run: Any = relay.create_executor(mod=InferType()(mod)).evaluate()
    assert run(3.0).numpy() == 12


def test_only_what_takes_a_continuation_is_given_back() -> None:
    with pytest.raises(IRTypeError, match=r"continuation, got fn \(float32\)"):
        un_cps(infer_type(Function((S,), S)))
    mod = InferType()(IRModule.from_expr(Function((S,), S)))
    assert UnCPS()(mod) is mod


@pytest.mark.slow
def test_programs_may_be_deep() -> None:
    branches: Expr = X
    for _ in range(3_000):
        branches = If(COND, branches, X)
    called: Expr = X
    f = GlobalVar("f")
    for _ in range(3_000):
        called = f(called)
    for body in (branches, called, calls(3_000)):
        mod = IRModule()
        mod[f] = Function((X,), X)
        mod["main"] = function_of(body)
        assert "main" in UnCPS()(InferType()(ToCPS()(mod)))
