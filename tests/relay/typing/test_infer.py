from __future__ import annotations

from collections.abc import Callable

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.structure.structural import assert_structural_equal
from parpass.relay import transform
from parpass.relay.expr import Expr, Function
from parpass.relay.typing.infer import infer_type, typed_function
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
