from __future__ import annotations

import pytest

from parpass import relay
from parpass.ir.structural import assert_structural_equal
from parpass.relay.expr import Call, Expr, Function, Let, Var, var
from parpass.relay.functor import post_order_rewrite
from tests.support.relay.deep import DEPTH, X, lets

x = var("x", shape=(2,))


def test_a_rewrite_sees_each_node_as_it_was_and_as_it_is_now() -> None:
    def tanh_for_exp(old: Expr, new: Expr) -> Expr:
        if isinstance(old, Call) and old.op is relay.exp(x).op:
            assert isinstance(new, Call)
            return relay.tanh(new.args[0])
        return new

    v = Var("v")
    program = Function((x,), Let(v, relay.exp(relay.exp(x)), relay.abs(v)))
    expected = Function((x,), Let(v, relay.tanh(relay.tanh(x)), relay.abs(v)))
    found = post_order_rewrite(program, tanh_for_exp)
    assert_structural_equal(found, expected)


def test_each_node_is_seen_once_after_its_children() -> None:
    seen: list[Expr] = []

    def look(old: Expr, new: Expr) -> Expr:
        seen.append(old)
        return new

    shared = relay.exp(x)
    program = relay.add(shared, shared)
    assert post_order_rewrite(program, look) is program
    nodes: list[Expr] = []
    relay.analysis.post_order_visit(program, nodes.append)
    assert seen == nodes


@pytest.mark.slow
def test_programs_may_be_deep() -> None:
    y = Var("y")
    found = post_order_rewrite(lets(DEPTH), lambda old, new: y if old is X else new)
    assert relay.analysis.free_vars(found) == [y]
