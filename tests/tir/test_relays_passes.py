"""Relay's passes leave loop programs alone that stand in the same module."""

from __future__ import annotations

import pytest

from parpass import IRModule, relay, te
from parpass.ir.structural import assert_structural_equal
from parpass.relay.transform import InferType
from tests.support.relay.pass_table import PASSES


def both_kinds() -> IRModule:
    a = te.placeholder((4,), name="a")
    loops = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0, "b")])
    x = relay.var("x", shape=(4,))
    main = relay.Function((x,), relay.nn.relu(relay.add(x, relay.const(1.0))))
    return InferType()(IRModule({"loops": loops, "f0": main}))


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_leaves_them_alone(name: str) -> None:
    mod = both_kinds()
    after = PASSES[name]()(mod)
    if "loops" in after:  # who removes what nobody calls may remove it
        assert after["loops"] is mod["loops"]
    alone = PASSES[name]()(IRModule({"f0": mod["f0"]}))
    assert_structural_equal(after["f0"], alone["f0"])
