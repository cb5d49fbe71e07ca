from __future__ import annotations

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.relay.analysis import list_op_freqs, node_count, post_order_visit
from parpass.relay.expr import Expr, Function, Tuple, Var, const, var
from tests.support.relay.programs import call_op

x = var("x", shape=(1, 4, 8, 8))


def test_operators_are_listed_by_how_often_they_are_called() -> None:
    body = relay.exp(relay.add(relay.exp(x), x))
    mod = IRModule({"main": Function((x,), body), "f": Function((), const(1))})
    assert list(list_op_freqs(mod).items()) == [("exp", 2), ("add", 1)]


X, Y = Var("x"), Var("y")
SHARED = call_op("add", X, Y)


def test_post_order_visit_calls_back_once_for_each_node_children_first():
    seen: list[Expr] = []
    root = Tuple((SHARED, SHARED))
    post_order_visit(root, seen.append)
    assert seen == post_order(root)


def test_shared_nodes_count_once_and_operators_not():
    assert node_count(Tuple((SHARED, SHARED))) == 4


def test_the_functions_of_a_module_count_each_for_itself():
    function = Function((X, Y), SHARED)
    assert node_count(IRModule({"f": function, "g": function})) == 8
