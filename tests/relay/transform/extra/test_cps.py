from __future__ import annotations

from typing import Any

import pytest

from parpass import relay
from parpass.errors import IRError, IRTypeError
from parpass.ir.adt import Constructor, GlobalTypeVar, TypeCall, TypeData
from parpass.ir.module import IRModule
from parpass.ir.types import FuncType, TensorType
from parpass.relay.expr import Expr, Function, GlobalVar, If, Let, Var
from parpass.relay.transform import InferType, ToCPS, UnCPS, to_cps, un_cps
from parpass.relay.typing.infer import infer_type
from tests.support.deep import COND, X, calls, function_of
from tests.support.docs import shows

SCALAR = TensorType((), "float32")
S = Var("x", SCALAR)


def test_the_documented_module_is_converted() -> None:
    x, c, y = S, relay.var("c", "bool"), Var("y")
    body = Let(y, If(c, relay.exp(x), x), relay.add(y, y))
    mod = InferType()(IRModule.from_expr(Function((x, c), body)))
    assert shows(ToCPS, mod, InferType()(ToCPS()(mod)))


def test_the_documented_module_returns_its_result_again() -> None:
    mod = InferType()(ToCPS()(InferType()(IRModule.from_expr(Function((S,), S)))))
    assert shows(UnCPS, mod, InferType()(UnCPS()(mod)))


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


def test_a_variable_may_be_bound_to_another_one() -> None:
    x, y = Var("x", SCALAR), Var("y")
    mod = InferType()(IRModule({"main": Function((x,), Let(y, x, relay.add(y, x)))}))
    after: Any = relay.create_executor(mod=UnCPS()(InferType()(ToCPS()(mod))))
    assert after.evaluate()(3.0).numpy() == 6


def test_a_constructor_is_no_function_to_convert() -> None:
    box = GlobalTypeVar("Box")
    wrap = Constructor("Wrap", (SCALAR,), box)
    mod = IRModule({}, {box: TypeData(box, (), (wrap,))})
    f, x = Var("f", FuncType((SCALAR,), TypeCall(box, ()))), Var("x", SCALAR)
    apply = GlobalVar("apply")
    mod[apply] = Function((f, x), f(x))
    mod["main"] = Function((S,), apply(wrap, S))
    with pytest.raises(IRError, match="expected constructor 'Wrap' to be called"):
        ToCPS()(InferType()(mod))


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
