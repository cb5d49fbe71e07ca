from __future__ import annotations

import pytest

from parpass import relay
from parpass.ir.node import post_order
from parpass.relay.expr import Expr
from parpass.relay.transform.simplify.canonicalize import CastCanonicalizer
from parpass.relay.type_inference.infer import infer_type

DEPTH = 20_000

x = relay.var("x", shape=(8,), dtype="int8")


def widened() -> Expr:
    return relay.cast(x, "int32")


@pytest.mark.slow
def test_one_cast_may_have_any_number_of_users_at_any_depth() -> None:
    shared, expr = widened(), widened()
    for _ in range(DEPTH // 10):
        expr = relay.add(expr, shared)
    after = CastCanonicalizer().visit(infer_type(expr))
    cast = relay.op.get("cast")
    casts = [node for node in post_order(after) if getattr(node, "op", None) is cast]
    assert len(casts) == DEPTH // 10 + 1
