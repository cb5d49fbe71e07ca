from __future__ import annotations

import pytest

from parpass import relay
from parpass.errors import IRTypeError, ScopeBuilderError
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType
from parpass.relay.expr import If, Let, Var, const, var
from parpass.relay.scope_builder import ScopeBuilder

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
    with pytest.raises(ScopeBuilderError, match="has its value already"):
        builder.ret(x)
    with pytest.raises(IRTypeError, match="a name and a type"):
        ScopeBuilder().let(("a",), x)  # pyright: ignore[reportArgumentType]
    with pytest.raises(IRTypeError, match="expected a Relay expression"):
        ScopeBuilder().let("a", "b")  # pyright: ignore[reportArgumentType]
