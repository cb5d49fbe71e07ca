from __future__ import annotations

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.structure.structural import assert_structural_equal
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.transform import CanonicalizeOps, InferType
from parpass.relay.transform.simplify.canonicalize_ops import OpCanonicalizer
from parpass.relay.typing.infer import infer_type
from tests.support.docs import shows
from tests.support.meaning import assert_keeps_meaning

DEPTH = 100_000

x = relay.var("x", shape=(1, 3, 4, 4))
b = relay.var("b", shape=(3,))


def test_the_documented_bias_becomes_an_add() -> None:
    before = IRModule.from_expr(Function((x, b), relay.nn.bias_add(x, b)))
    bias = relay.expand_dims(b, axis=1, num_newaxis=2)
    expected = IRModule.from_expr(Function((x, b), relay.add(x, bias)))
    after = CanonicalizeOps()(InferType()(before))
    assert_structural_equal(after, InferType()(expected))
    assert shows(CanonicalizeOps, before, expected)


@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 3), 1), ((2, 3), -1), ((3, 2), 0), ((1, 3, 4, 4), -3)]
)
def test_a_bias_along_any_axis_means_the_same(
    shape: tuple[int, ...], axis: int
) -> None:
    data = relay.var("data", shape=shape)
    body = relay.nn.bias_add(relay.exp(data), b, axis=axis)
    assert_keeps_meaning(
        CanonicalizeOps(), IRModule.from_expr(Function((data, b), body))
    )


def test_the_last_axis_needs_no_further_dimensions() -> None:
    data = relay.var("data", shape=(2, 3))
    typed = infer_type(Function((data, b), relay.nn.bias_add(data, b)))
    after = OpCanonicalizer().visit(typed)
    assert_structural_equal(
        infer_type(after), infer_type(Function((data, b), data + b))
    )


def test_other_programs_are_the_same_objects() -> None:
    function = infer_type(Function((x,), relay.exp(x)))
    assert OpCanonicalizer().visit(function) is function


@pytest.mark.slow
def test_deep_programs_are_canonicalized() -> None:
    expr: Expr = x
    for _ in range(DEPTH // 10):
        expr = relay.nn.bias_add(expr, b)
    after = OpCanonicalizer().visit(infer_type(expr))
    assert isinstance(after, Call)
    assert after.op is relay.op.get("add")
