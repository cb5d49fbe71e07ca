from __future__ import annotations

import pytest

from parpass import relay
from parpass.errors import DiagnosticError, IRTypeError, ScopeBuilderError
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType
from parpass.relay.expr import Expr, If, Let, Var, const, var
from parpass.relay.interpreter.interpreter import create_executor
from parpass.relay.scope_builder import ScopeBuilder, while_loop

x = var("x", shape=(2,))
COND = var("c", "bool")


def test_lets_are_nested_in_the_order_of_the_calls() -> None:
    builder = ScopeBuilder()
    a = builder.let("a", relay.exp(x))
    b = builder.let(("b", TensorType((2,))), a)
    c = builder.let(Var("c"), 1.0)
    builder.ret(relay.add(b, c))
    assert b.type_annotation == TensorType((2,))
    expected = Let(a, relay.exp(x), Let(b, a, Let(c, const(1.0), relay.add(b, c))))
    assert_structural_equal(builder.get(), expected)


def test_branches_have_scopes_of_their_own() -> None:
    builder = relay.ScopeBuilder()
    before = builder.let("before", relay.tanh(x))
    with builder.if_scope(COND):
        a = builder.let("a", relay.exp(before))
        builder.ret(a)
    with builder.else_scope():
        with builder.if_scope(COND):
            builder.ret(x)
        with builder.else_scope():
            builder.ret(before)
    inner = If(COND, x, before)
    choice = If(COND, Let(a, relay.exp(before), a), inner)
    assert_structural_equal(builder.get(), Let(before, relay.tanh(x), choice), True)


def test_types_are_known_of_variables_and_inferred_of_others() -> None:
    builder = ScopeBuilder()
    assert builder.type_of(x) == TensorType((2,))
    assert builder.type_of(relay.exp(x)) == TensorType((2,))


def test_what_is_out_of_order_is_an_error_that_says_what_is_expected() -> None:
    builder = ScopeBuilder()
    with pytest.raises(ScopeBuilderError, match="expected ret"):
        builder.get()
    expected_if = pytest.raises(ScopeBuilderError, match="right after an if_scope")
    with expected_if, builder.else_scope():
        pass
    with builder.if_scope(COND):
        builder.ret(x)
    with pytest.raises(ScopeBuilderError, match="expected else_scope"):
        builder.ret(x)
    with pytest.raises(RuntimeError, match="expected an else_scope"):
        builder.get()
    with builder.else_scope():
        builder.ret(x)
    with pytest.raises(ScopeBuilderError, match="already has a value"):
        builder.ret(x)
    with pytest.raises(IRTypeError, match="a name and a type"):
        ScopeBuilder().let(("a",), x)  # pyright: ignore[reportArgumentType]
    with pytest.raises(IRTypeError, match="expected a Relay expression"):
        ScopeBuilder().let("a", "b")  # pyright: ignore[reportArgumentType]


def is_small(i: Var, _power: Var) -> Expr:
    return relay.less(i, const(4))


def next_round(i: Var, power: Var) -> list[Expr]:
    return [relay.add(i, const(1)), relay.multiply(power, power)]


def test_a_loop_repeats_its_body_while_its_condition_holds() -> None:
    i = var("i", shape=(), dtype="int32")
    loop = while_loop(is_small, [i, relay.exp(x)], next_round)
    run = create_executor()
    count, power = run.evaluate(loop(const(1), const([2.0, 3.0])))
    assert count.numpy() == 4
    assert power.numpy().tolist() == [2.0**8, 3.0**8]
    assert isinstance(loop.value, relay.Function)
    assert [one.name_hint for one in loop.value.params] == ["i", "arg1"]
    assert loop.value.params[1].type_annotation == TensorType((2,))


def test_a_variable_of_a_loop_needs_a_type() -> None:
    with pytest.raises(DiagnosticError, match="free variable 'i'"):
        while_loop(is_small, [var("i"), relay.exp(var("n"))], next_round)
