"""The types of nodes that are built on typed ones."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given

from parpass import relay
from parpass.errors import IRTypeError
from parpass.ir.node import children, post_order, reflection
from parpass.ir.types import FuncType, TensorType, TypeVar
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Var
from parpass.relay.type_inference.built import BuiltTypes
from parpass.relay.type_inference.infer import infer_type
from tests.support.drawn import FUNCTIONS
from tests.support.profiles import examples

x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))


@examples(1.25)
@given(FUNCTIONS)
def test_each_node_built_on_typed_ones_has_the_type_that_inference_finds(
    function: Function,
) -> None:
    types = BuiltTypes()
    for node in cast("list[Expr]", post_order(infer_type(function))):
        below = children(node)
        if below:
            built = reflection(type(node)).rebuild(node, below)
            assert types.type_of(built) == node.checked_type


def test_nothing_changes_in_the_nodes() -> None:
    call = relay.exp(x)
    assert BuiltTypes().tensor(relay.abs(call)) == TensorType((2, 3))
    assert call.checked_type_ is None


def test_what_is_ill_typed_says_what_inference_says() -> None:
    types = BuiltTypes()
    wrong = relay.nn.dense(x, relay.var("v", shape=(4, 5)))
    with pytest.raises(IRTypeError, match=r"^operator 'nn\.dense': expected"):
        types.type_of(wrong)
    assert types.get(relay.exp(wrong)) is None
    assert types.type_of(relay.nn.dense(x, w)) == TensorType((2, 4))


@pytest.mark.parametrize("unknown", [Var("u"), Call(GlobalVar("f"), (x,))])
def test_what_nothing_says_the_type_of_has_none(unknown: Expr) -> None:
    with pytest.raises(IRTypeError, match="expected types on all variables"):
        BuiltTypes().type_of(relay.exp(unknown))


def test_a_value_that_is_no_tensor_is_an_error_that_shows_its_type() -> None:
    with pytest.raises(IRTypeError, match=r"^expected a tensor, got \("):
        BuiltTypes().tensor(relay.Tuple((x, w)))


def test_type_arguments_of_a_call_are_found() -> None:
    of = TypeVar("A")
    same = relay.var("same", FuncType((of,), of, (of,)))
    assert BuiltTypes().tensor(Call(same, (x,))) == TensorType((2, 3))


def test_depth_is_no_matter() -> None:
    deep: Expr = x
    for _ in range(5_000):
        deep = relay.abs(deep)
    assert BuiltTypes().tensor(deep) == TensorType((2, 3))
