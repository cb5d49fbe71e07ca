from __future__ import annotations

import pytest

from parpass import relay
from parpass.errors import UnknownOpError, UntypedError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.relay.analysis import (
    all_dtypes,
    get_total_mac_number,
    list_op_freqs,
    node_count,
    post_order_visit,
)
from parpass.relay.expr import Expr, Function, Tuple, Var, const, var
from parpass.relay.transform import InferType
from tests.support.deep import DEPTH, calls
from tests.support.programs import call_op

x = var("x", shape=(1, 4, 8, 8))


def test_operators_are_listed_by_how_often_they_are_called() -> None:
    body = relay.exp(relay.add(relay.exp(x), x))
    mod = IRModule({"main": Function((x,), body), "f": Function((), const(1))})
    assert list(list_op_freqs(mod).items()) == [("exp", 2), ("add", 1)]


def test_dtypes_are_those_of_all_values() -> None:
    y = var("y", "int8")
    body = Tuple((relay.cast(y, "float64"), relay.exp(x), Function((), const(1))))
    mod = InferType()(IRModule({"main": Function((x, y), body)}))
    assert all_dtypes(mod["main"]) == {"int8", "float64", "float32", "int32"}
    with pytest.raises(UntypedError):
        all_dtypes(Function((x,), x))


def macs(body: Expr, *params: relay.Var) -> int:
    mod = InferType()(IRModule({"main": Function(params, body)}))
    assert get_total_mac_number(mod) == get_total_mac_number(mod["main"])
    return get_total_mac_number(mod)


def test_a_convolution_takes_a_kernel_for_each_output() -> None:
    w = var("w", shape=(6, 4, 3, 3))
    assert macs(relay.nn.conv2d(x, w), x, w) == 6 * 6 * 6 * (4 * 3 * 3)
    depthwise = var("w", shape=(4, 1, 3, 3))
    conv = relay.nn.conv2d(x, depthwise, groups=4, padding=(1, 1))
    assert macs(conv, x, depthwise) == 4 * 8 * 8 * 9


def test_a_transposed_convolution_takes_a_kernel_for_each_output_too() -> None:
    w = var("w", shape=(4, 6, 3, 3))
    conv = relay.nn.conv2d_transpose(x, w)
    assert macs(conv, x, w) == 6 * 10 * 10 * (4 * 3 * 3)
    grouped = relay.nn.conv2d_transpose(x, w, groups=2, strides=2)
    assert macs(grouped, x, w) == 12 * 17 * 17 * (2 * 3 * 3)


def test_products_take_their_inner_axis_for_each_output() -> None:
    a, b = var("a", shape=(5, 7)), var("b", shape=(3, 7))
    assert macs(relay.nn.dense(a, b), a, b) == 5 * 3 * 7
    c, d = var("c", shape=(2, 5, 7)), var("d", shape=(2, 3, 7))
    assert macs(relay.nn.batch_matmul(c, d), c, d) == 2 * 5 * 3 * 7


def test_other_operators_take_none() -> None:
    assert macs(relay.exp(x), x) == 0


def test_layers_are_those_of_the_longest_path():
    x = relay.var("x", shape=(1, 4))
    parallel = relay.add(relay.nn.relu(relay.exp(x)), relay.exp(x))
    mod = IRModule.from_expr(relay.Function([x], relay.exp(parallel)))
    count = relay.analysis.count_layers
    assert count(mod, ["exp"]) == count(mod["main"], ["exp"]) == 2
    assert count(mod, ["exp", "nn.relu"]) == 3
    assert count(mod, []) == 0
    with pytest.raises(UnknownOpError):
        count(mod, ["expp"])


@pytest.mark.slow
def test_layers_of_deep_programs_are_counted():
    assert relay.analysis.count_layers(calls(DEPTH), ["add"]) > 1000


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
