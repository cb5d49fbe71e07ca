from __future__ import annotations

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structure.structural import assert_structural_equal
from parpass.relay.expr import Expr, Function
from parpass.relay.transform import CanonicalizeCast, InferType
from parpass.relay.transform.simplify.canonicalize_cast import CastCanonicalizer
from parpass.relay.typing.infer import infer_type
from tests.support.docs import shows
from tests.support.meaning import assert_keeps_meaning

DEPTH = 100_000

x = relay.var("x", shape=(8,), dtype="int8")
y = relay.var("y", shape=(8,), dtype="int32")
BOTH = (x, y)


def widened() -> Expr:
    return relay.cast(x, "int32")


def module(body: Expr) -> IRModule:
    return IRModule.from_expr(Function(BOTH, body))


def test_the_documented_users_get_casts_of_their_own() -> None:
    shared = widened()
    before = module(relay.add(relay.add(shared, y), relay.multiply(shared, y)))
    expected = module(relay.add(relay.add(widened(), y), relay.multiply(widened(), y)))
    after = assert_keeps_meaning(CanonicalizeCast(), before)
    assert_structural_equal(after, InferType()(expected))
    assert shows(CanonicalizeCast, before, expected)


def test_a_cast_is_copied_for_each_argument_too() -> None:
    shared = widened()
    after = CanonicalizeCast()(InferType()(module(relay.add(shared, shared))))
    expected = module(relay.add(widened(), widened()))
    assert_structural_equal(after, InferType()(expected))


@pytest.mark.parametrize(
    "body",
    [
        relay.add(relay.cast(y, "int8"), relay.cast(y, "int8")),
        relay.add(widened(), y),
        relay.concatenate((shared := widened(), shared), axis=0),
        relay.add(narrow := relay.cast(y, "int8"), narrow),
    ],
)
def test_casts_that_are_narrow_or_have_no_such_users_are_shared(body: Expr) -> None:
    function = infer_type(Function(BOTH, body))
    assert CastCanonicalizer().visit(function) is function


@pytest.mark.slow
def test_one_cast_may_have_any_number_of_users_at_any_depth() -> None:
    shared, expr = widened(), widened()
    for _ in range(DEPTH // 10):
        expr = relay.add(expr, shared)
    after = CastCanonicalizer().visit(infer_type(expr))
    cast = relay.op.get("cast")
    casts = [node for node in post_order(after) if getattr(node, "op", None) is cast]
    assert len(casts) == DEPTH // 10 + 1
