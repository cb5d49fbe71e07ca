"""What inference fills in, as text: closures that name themselves, open types."""

from __future__ import annotations

import pytest

from parpass import relay
from parpass.errors import ParseError
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import IncompleteType, TensorType, TupleType, TypeVar
from parpass.relay.expr import Call, Function, Let, Var


@pytest.mark.parametrize(
    "between", [" ", "", "\n  ", " // its own name is known\n", " /* known; */ "]
)
def test_a_function_that_a_let_binds_may_refer_to_itself(between: str) -> None:
    let = relay.parse_expr(f"let %f ={between}fn (%x) {{ %f(%x) }}; %f(1)")
    assert isinstance(let, Let)
    assert isinstance(let.value, Function)
    call = let.value.body
    assert isinstance(call, Call)
    assert call.op is let.var
    assert_structural_equal(relay.parse_expr(str(let)), let)


def test_a_parameter_hides_the_name_of_its_function() -> None:
    let = relay.parse_expr("let %f = fn (%f) { %f }; %f(1)")
    assert isinstance(let, Let)
    assert isinstance(let.value, Function)
    assert let.value.body is let.value.params[0]


def test_other_values_see_what_the_name_meant_before() -> None:
    expr = relay.parse_expr("let %x = 1; let %x = (fn () { %x })(); %x")
    assert len([node for node in post_order(expr) if isinstance(node, Var)]) == 2
    with pytest.raises(ParseError, match="no variable named '%x'"):
        relay.parse_expr("let %x = (1, fn () { %x }); %x")


def test_type_parameters_may_stand_in_brackets_as_in_tvm() -> None:
    brackets = relay.parse_expr("fn [A, B](%x: A, %y: B) -> A { %x }")
    assert_structural_equal(brackets, relay.parse_expr(str(brackets)))
    assert isinstance(brackets, Function)
    assert brackets.type_params == (TypeVar("A"), TypeVar("B"))
    assert "def @id<A>(" in str(relay.parse("def @id[A](%x: A) -> A { %x }"))


def test_an_open_type_is_an_underscore() -> None:
    function = relay.parse_expr("fn (%x: (_, float32)) -> _ { %x }")
    assert isinstance(function, Function)
    annotation = function.params[0].type_annotation
    assert isinstance(annotation, TupleType)
    open_, known = annotation.fields
    assert isinstance(open_, IncompleteType)
    assert known == TensorType(())
    assert isinstance(function.ret_type, IncompleteType)
    assert function.ret_type is not open_
    assert "fn (%x: (_, float32)) -> _ {" in str(function)
