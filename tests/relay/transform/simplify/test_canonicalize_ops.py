from __future__ import annotations

import pytest

from parpass import relay
from parpass.relay.expr import Call, Expr
from parpass.relay.transform.simplify.canonicalize import OpCanonicalizer
from parpass.relay.type_inference.infer import infer_type

DEPTH = 20_000

x = relay.var("x", shape=(1, 3, 4, 4))
b = relay.var("b", shape=(3,))


@pytest.mark.slow
def test_deep_programs_are_canonicalized() -> None:
    expr: Expr = x
    for _ in range(DEPTH // 10):
        expr = relay.nn.bias_add(expr, b)
    after = OpCanonicalizer().visit(infer_type(expr))
    assert isinstance(after, Call)
    assert after.op is relay.op.get("add")
