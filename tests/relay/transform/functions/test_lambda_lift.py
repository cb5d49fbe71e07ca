from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import FuncType, TensorType
from parpass.relay.analysis import well_formed
from parpass.relay.expr import Call, Expr, Function, If, Let, Tuple, Var, const, var
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform import InferType, LambdaLift
from parpass.transform import PassContext
from tests.support.deep import DEEPEST, X, calls, function_of, ifs, let_values, lets
from tests.support.docs import shows

F32 = TensorType(())
x, y = var("x", F32), var("y", F32)


def adding(captured: Expr) -> Function:
    p = var("y", F32)
    return Function((p,), relay.add(captured, p), F32)


def only_lifted(mod: IRModule) -> tuple[str, Function]:
    ((name, function),) = [
        (name, f) for name, f in mod.functions_by_name.items() if name != "main"
    ]
    return name, function


def test_the_documented_closure_is_lifted() -> None:
    f = Var("f")
    main = Function((x,), Let(f, adding(x), f(const(1.0))), F32)
    before = IRModule({"main": main})
    with PassContext() as context:
        after = LambdaLift()(before)
    name, lifted = only_lifted(after)
    assert name.startswith("lifted_name")
    assert lifted.ret_type == FuncType((F32,), F32)
    var_ = after.get_global_var(name)
    expected = Function((x,), Let(f, var_(x), f(const(1.0))), F32)
    assert_structural_equal(after["main"], expected)
    assert context.statistics["LambdaLift"] == {"lifted": 1}
    text = str(after).replace(name, "lifted_name1be4")
    assert shows(LambdaLift, before, relay.fromtext(f'#[version = "0.0.5"]\n{text}'))


def test_it_is_a_module_pass_of_level_1_7_13() -> None:
    info = LambdaLift().info
    assert (info.name, info.opt_level, tuple(info.required)) == ("LambdaLift", 1, ())


def test_a_closure_that_captures_nothing_becomes_the_function_itself_12_4() -> None:
    p = var("p", F32)
    after = LambdaLift()(IRModule({"main": Function((x,), Function((p,), p)(x))}))
    name, lifted = only_lifted(after)
    expected = Function((x,), after.get_global_var(name)(x), F32)
    assert_structural_equal(after["main"], expected)
    assert not lifted.has_nonzero_attr("Closure")


def test_closures_in_closures_are_lifted_one_by_one_12_4() -> None:
    p = var("p", F32)
    outer = Function((p,), adding(p))
    main = Function((), Call(outer(const(1.0)), (const(2.0),)))
    after = LambdaLift()(IRModule({"main": main}))
    assert len(after) == 3
    assert evaluate(after["main"], [], after) == 3


def test_equal_closures_are_lifted_once_12_4() -> None:
    body = Tuple((adding(x), adding(x), adding(y)))
    mod = IRModule({"main": Function((x, y), body), "other": Function((x,), adding(x))})
    after = LambdaLift()(mod)
    assert len(after) == 3
    assert LambdaLift()(after) is after


def test_names_are_the_same_in_every_run_and_clash_with_none() -> None:
    mod = IRModule({"main": Function((x,), adding(x))})
    name, _ = only_lifted(LambdaLift()(mod))
    assert only_lifted(LambdaLift()(mod.copy()))[0] == name
    taken = IRModule({"main": mod["main"], name: Function((x,), x)})
    assert list(LambdaLift()(taken).functions_by_name) == ["main", name, f"{name}_1"]


def counting(*, captures: bool) -> Function:
    n, loop = var("n", "int32"), Var("loop")
    step = var("step", "int32")
    more = relay.add(step if captures else const(2), loop(n - const(1)))
    body = If(relay.less(n, const(1)), const(0), more)
    closure = Function((n,), body, n.type_annotation)
    return Function((step,), Let(loop, closure, loop(const(3))), n.type_annotation)


@pytest.mark.parametrize("captures", [False, True])
def test_a_closure_that_calls_itself_calls_the_global_function_12_4(
    captures: bool,
) -> None:
    after = LambdaLift()(IRModule({"main": counting(captures=captures)}))
    assert len(after) == 2
    assert well_formed(InferType()(after))
    assert evaluate(after["main"], [np.int32(2)], after) == 6


@pytest.mark.parametrize("mark", ["Primitive", "Compiler"])
def test_functions_made_by_other_passes_stay_12_4(mark: str) -> None:
    p = var("p", F32)
    made = Function((p,), Function((y,), y)(p), attrs={mark: "made"})
    mod = IRModule({"main": Function((x,), made(x)), "other": made})
    assert LambdaLift()(mod) is mod


def test_a_module_without_closures_is_the_same_object() -> None:
    mod = IRModule({"main": Function((x,), x)})
    assert LambdaLift()(mod) is mod


@pytest.mark.stress
@pytest.mark.parametrize("kind", [calls, lets, let_values, ifs])
def test_the_program_around_a_closure_may_be_deep(kind: Callable[[int], Expr]) -> None:
    body = Tuple((kind(DEEPEST), Function((), X)))
    assert len(LambdaLift()(IRModule({"main": function_of(body)}))) == 2


@pytest.mark.stress
def test_closures_may_be_nested_deeply() -> None:
    expr: Expr = X
    for _ in range(DEEPEST):
        expr = relay.exp(Call(Function((), expr), ()))
    after = LambdaLift()(IRModule({"main": Function((X,), expr)}))
    assert len(after) == 1 + DEEPEST
