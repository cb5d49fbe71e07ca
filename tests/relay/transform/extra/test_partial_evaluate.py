from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType, TypeVar
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.functor import let_chain
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform import DeadCodeElimination, InferType, PartialEvaluate
from parpass.relay.transform.extra.partial_values import types_in_code
from parpass.transform import PassContext, Sequential
from tests.support.adts import head_or, list_of, with_lists
from tests.support.deep import TYPED_KINDS, function_of
from tests.support.docs import shows
from tests.support.effects import effect, read
from tests.support.meaning import assert_keeps_meaning

SCALAR = TensorType((), "float32")
INT = TensorType((), "int32")
ONE = relay.const(1)


def scalar(name: str = "x") -> Var:
    return Var(name, SCALAR)


def lets(*bindings: tuple[Var, Expr], body: Expr) -> Expr:
    for var, value in reversed(bindings):
        body = Let(var, value, body)
    return body


def cleaned(expr: Function | IRModule) -> Any:
    """Return the main function, evaluated, without what is dead."""
    mod = expr if isinstance(expr, IRModule) else IRModule({"main": expr})
    dead = DeadCodeElimination(inline_once=True)
    return assert_keeps_meaning(Sequential([PartialEvaluate(), dead]), mod)["main"]


def assert_becomes(function: Function, *expected: Expr) -> None:
    (body,) = expected
    after = InferType()(IRModule({"main": Function(function.params, body)}))
    assert_structural_equal(cleaned(function), after["main"])


def with_power() -> IRModule:
    """Return a module with a function that counts an argument down."""
    x, n, power = scalar(), Var("n", INT), GlobalVar("power")
    again = relay.multiply(x, power(x, relay.subtract(n, ONE)))
    stops = relay.equal(n, relay.const(0))
    body = If(stops, relay.const(1.0), again)
    return IRModule({power: Function((x, n), body, SCALAR)})


def test_the_documented_module_is_evaluated() -> None:
    mod, x, r, u = with_power(), scalar(), Var("r"), Var("u")
    power = mod.get_global_var("power")
    write = RefWrite(r, power(x, relay.const(2)))
    body = lets((r, RefCreate(x)), (u, write), body=RefRead(r))
    mod["main"] = Function((x,), body)
    mod = InferType()(mod)
    assert shows(PartialEvaluate, mod, InferType()(PartialEvaluate()(mod)))


def test_closures_tuples_and_data_types_are_looked_into() -> None:
    x, y, f, t = scalar(), scalar("y"), Var("f"), Var("t")
    closure = Function((y,), relay.add(x, y))
    pair = Tuple((closure, relay.exp(x)))
    call = Call(TupleGetItem(t, 0), (TupleGetItem(t, 1),))
    body = lets((t, pair), (f, call), body=f)
    assert_becomes(Function((x,), body), relay.add(x, relay.exp(x)))
    mod = with_lists()
    mod["main"] = Function((x,), head_or(list_of(x, relay.exp(x)), relay.log(x)))
    assert cleaned(mod).body is cleaned(mod).params[0]


def test_what_may_be_written_elsewhere_is_read_again() -> None:
    x, r, u, f = scalar(), Var("r"), Var("u"), GlobalVar("f")
    ref, n = Var("ref", relay.RefType(SCALAR)), Var("n", INT)
    written = lets((u, RefWrite(ref, relay.exp(RefRead(ref)))), body=ref)
    again = f(ref, relay.subtract(n, ONE))
    body = If(relay.less(n, ONE), written, again)
    mod = IRModule({f: Function((ref, n), body, relay.RefType(SCALAR))})
    v, m = Var("v"), Var("m", INT)
    bindings = ((r, RefCreate(x)), (v, f(r, m)))
    mod["main"] = Function((x, m), lets(*bindings, body=RefRead(r)))
    after = cleaned(mod)
    run: Any = relay.create_executor(mod=PartialEvaluate()(InferType()(mod))).evaluate()
    assert run(0.0, 3).numpy() == 1
    assert any(isinstance(node, RefRead) for node in post_order(after.body))


def test_a_write_in_a_branch_is_not_known_behind_it() -> None:
    x, c, r, u, v = scalar(), relay.var("c", "bool"), Var("r"), Var("u"), Var("v")
    branch = If(c, RefWrite(r, relay.exp(x)), Tuple(()))
    body = lets((r, RefCreate(x)), (u, branch), body=RefRead(r))
    for taken, expected in ((True, 1.0), (False, 0.0)):
        got = evaluate(cleaned(Function((x, c), body)), [0.0, taken])
        np.testing.assert_equal(got, np.float32(expected))
    fixed = lets((v, RefCreate(relay.const(value=True))), body=body)
    known = Function((x, c), relay.bind(fixed, {c: RefRead(v)}))
    assert_becomes(known, relay.exp(x))


def test_effects_stay_in_their_order() -> None:
    x, a, b, f = scalar(), Var("a"), Var("b"), Var("f")
    closure = Function((), effect(relay.const(2.0)))
    bindings = ((f, closure), (a, f()), (b, read(x)), (Var("c"), f()))
    body = lets(*bindings, body=relay.add(a, b))
    after = PartialEvaluate()(InferType()(IRModule({"main": Function((x,), body)})))
    calls = [n for n in post_order(after["main"]) if isinstance(n, Call)]
    names = ["test.writes", "test.reads", "test.writes", "add"]
    assert sorted(getattr(call.op, "name", "") for call in calls) == sorted(names)
    chain, _ = let_chain(after["main"].body)
    in_order = [let.value.op for let in chain if isinstance(let.value, Call)]
    assert [getattr(op, "name", "") for op in in_order] == names[:3]


def test_a_recursion_that_is_not_known_to_end_is_left() -> None:
    mod, x, m = with_power(), scalar(), Var("m", INT)
    mod["main"] = Function((x, m), mod.get_global_var("power")(x, m))
    assert len(post_order(cleaned(mod).body)) < 30


def test_functions_that_double_are_evaluated_up_to_a_limit() -> None:
    mod, before = IRModule(), GlobalVar("f0")
    x = scalar()
    mod[before] = Function((x,), relay.exp(x))
    for at in range(1, 40):
        x, var = scalar(), GlobalVar(f"f{at}")
        mod[var] = Function((x,), before(before(x)), SCALAR)
        before = var
    with PassContext(config={"relay.max_copied_nodes": 500}):
        after = PartialEvaluate()(InferType()(mod))
    sizes = [len(post_order(after[name])) for name in after.functions_by_name]
    assert sum(sizes) < 4_000
    assert len(post_order(after["f3"])) > 8


def test_types_that_a_call_chooses_are_put_for_type_parameters() -> None:
    a, b, x = TypeVar("A"), TypeVar("B"), scalar()
    y, z, g = Var("y", a), Var("z", b), Var("g")
    inner = Function((z,), Tuple((y, z)), relay.TupleType([a, b]), (b,))
    pair = GlobalVar("pair")
    mod = IRModule({pair: Function((y,), inner, None, (a,))})
    c = relay.var("c", "bool")
    main = lets((g, pair(x)), body=If(c, g, g)(x))
    mod["main"] = Function((x, c), main)
    assert cleaned(mod).checked_type.ret_type == relay.TupleType([SCALAR, SCALAR])
    types, own = types_in_code(inner, {a: b})
    assert [param.name_hint for param in own] == ["B_"]
    assert types == {a: b, b: own[0]}


def test_what_is_normal_and_unknown_stays_the_same_object() -> None:
    x = relay.var("x", shape=(3,))
    mod = InferType()(IRModule({"main": Function((x,), relay.exp(x))}))
    assert PartialEvaluate()(mod) is mod
    marked = mod["main"].with_attr("Primitive", 1)
    mod = InferType()(IRModule({"main": marked}))
    assert PartialEvaluate()(mod) is mod


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPED_KINDS)
def test_programs_may_be_deep(kind: Callable[[int], Expr]) -> None:
    mod = InferType()(IRModule({"main": function_of(kind(2_000))}))
    assert "main" in PartialEvaluate()(mod)


@pytest.mark.slow
def test_recursions_may_be_deep() -> None:
    mod, x = with_power(), scalar()
    mod["main"] = Function((x,), mod.get_global_var("power")(x, relay.const(3_000)))
    after = PartialEvaluate()(InferType()(mod))
    assert evaluate(after["main"], [1.0], after) == 1
