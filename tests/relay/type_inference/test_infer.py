from __future__ import annotations

from collections.abc import Callable

import pytest

from parpass import relay
from parpass.errors import DiagnosticError
from parpass.ir.module import IRModule
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType
from parpass.relay import transform
from parpass.relay.expr import Call, Expr, Function, Var
from parpass.relay.type_inference.infer import infer_type, typed_function
from parpass.transform import Pass

x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
b = relay.var("b", shape=(3,))
small = relay.cast(relay.cast(x, "int8"), "int32")


def test_a_function_with_types_is_the_same_object() -> None:
    function = infer_type(Function((x,), relay.exp(x)))
    assert typed_function(function, IRModule()) is function


@pytest.mark.parametrize(
    ("factory", "body"),
    [
        (transform.SimplifyExpr, relay.reshape(x, (2, -1))),
        (transform.SimplifyInference, relay.nn.layer_norm(x, b, b)),
        (transform.CanonicalizeOps, relay.nn.bias_add(x, b)),
        (transform.CanonicalizeCast, small + small),
        (
            lambda: transform.CombineParallelDense(2),
            relay.Tuple((relay.nn.dense(x, w), relay.nn.dense(x, w))),
        ),
    ],
)
def test_a_pass_that_is_called_by_itself_finds_the_types(
    factory: Callable[[], Pass], body: Expr
) -> None:
    mod = IRModule.from_expr(Function((x, w, b), body))
    before = transform.InferType()(mod)
    after = factory()(mod)
    assert after["main"] is not before["main"]
    assert_structural_equal(after, factory()(before))


def test_a_free_variable_is_annotated_by_what_is_found_and_a_bound_one_is_not() -> None:
    free, bound = relay.var("f"), relay.var("v")
    data = relay.var("x", shape=(2, 3))
    let = relay.Let(bound, relay.nn.bias_add(data, free), relay.exp(bound))
    typed = infer_type(let)
    assert typed.var.type_annotation is None
    assert typed.var.checked_type == TensorType((2, 3))
    assert isinstance(typed.value, Call)
    inner = typed.value.args[1]
    assert isinstance(inner, Var)
    assert inner.type_annotation == TensorType((3,))
    assert infer_type(typed) is typed
    assert bound.type_annotation is None


PAIR = "fn <A>(%x: A) -> fn <B>(B) -> (A, B) { fn <B>(%w: B) -> (A, B) { (%x, %w) } }"


@pytest.mark.parametrize("arguments", ["<B>", ""])
def test_a_function_that_comes_back_binds_no_type_variable_of_its_caller(
    arguments: str,
):
    # Whether the type argument is given, or found out when it is too late to rename.
    text = f"def @main<B>(%v: B) {{ let %pair = {PAIR}; %pair{arguments}(%v) }}"
    found = transform.InferType()(relay.parse(text))["main"].checked_type
    assert str(found) == "fn <B>(B) -> fn <B_1>(B_1) -> (B, B_1)"


@pytest.mark.parametrize("value", ["@id", "Wrap"])
def test_a_let_gives_a_name_to_what_has_one(value: str):
    text = "type W[A] { Wrap(A) } def @id<A>(%x: A) -> A { %x } def @main(%x: int32) "
    found = transform.InferType()(relay.parse(text + f"{{ let %f = {value}; %f(%x) }}"))
    result = {"@id": "int32", "Wrap": "W[int32]"}[value]
    assert str(found["main"].checked_type) == f"fn (int32) -> {result}"


def test_a_let_of_an_operator_is_one_error():
    with pytest.raises(DiagnosticError) as caught:
        transform.InferType()(
            relay.parse("def @main(%x: float32) { let %f = abs; %f(%x) }")
        )
    assert [one.message for one in caught.value.diagnostics] == [
        "function 'main': expected a value, got operator 'abs'; wrap it in a function"
    ]
