"""Graphs of lowered networks, as TVM's graph executor has them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parpass import IRModule, relay
from parpass.errors import CodeGenError, LibraryError
from parpass.relay.backend.graph_executor_codegen import graph_of
from parpass.runtime.graph_json import read_graph
from tests.support.lowered_networks import added, network


def test_a_network_becomes_tvms_graph():
    generated = graph_of(network())
    said = json.loads(generated.graph.to_json())
    assert [(node["op"], node["name"], node["inputs"]) for node in said["nodes"]] == [
        ("null", "x", []),
        ("null", "p0", []),
        ("tvm_op", "fused_dense", [[0, 0, 0], [1, 0, 0]]),
        ("tvm_op", "fused_add", [[2, 0, 0]]),
        ("tvm_op", "fused_add_1", [[3, 0, 0]]),
        ("tvm_op", "fused_split", [[4, 0, 0]]),
        ("tvm_op", "fused_sort", [[5, 1, 0]]),
    ]
    assert said["nodes"][5]["attrs"] == {
        "num_outputs": "2",
        "num_inputs": "1",
        "flatten_data": "0",
        "func_name": "fused_split",
    }
    assert said["arg_nodes"] == [0, 1]
    assert said["heads"] == [[6, 0, 0], [5, 0, 0]]
    assert said["node_row_ptr"] == [0, 1, 2, 3, 4, 5, 7, 8]
    assert said["attrs"]["dltype"] == ["list_str", ["float32"] * 8]
    shapes = [[2, 4], [3, 4], *[[2, 3]] * 6]
    assert said["attrs"]["shape"] == ["list_shape", shapes]
    assert len({*said["attrs"]["storage_id"][1]}) == 5  # three share with others
    assert [*generated.params] == ["p0"]
    assert read_graph(generated.graph.to_json()) == generated.graph


def nested() -> IRModule:
    """Return a network with tuples in tuples, and calls of one kernel."""
    kind = relay.TensorType((2, 3), "float32")
    pair = relay.Var("pair", relay.TupleType([kind, relay.TupleType([kind, kind])]))
    x = relay.Var("x", kind)
    inner = relay.TupleGetItem(relay.TupleGetItem(pair, 1), 0)
    add = relay.GlobalVar("add")
    one = relay.Call(add, [inner])
    result = relay.Tuple([x, relay.Tuple([one, relay.Call(add, [one])]), one])
    main = relay.Function([pair, x], result)
    return IRModule({"main": main, "add": added(1.0, "add")})


def test_tuples_are_laid_out_flat_and_names_are_nodes_own():
    graph = graph_of(nested()).graph
    names = [node.name for node in graph.nodes]
    assert names == ["pair_0", "pair_1", "pair_2", "x", "add", "add_1"]
    assert graph.nodes[4].inputs == ((1, 0),)
    assert graph.heads == ((3, 0), (4, 0), (5, 0), (4, 0))


def test_a_constant_has_no_name_of_an_input():
    p0 = relay.var("p0", shape=(2, 4))
    mod = network()
    weight = relay.const([[1.0] * 4] * 3)
    call = relay.Call(relay.GlobalVar("fused_dense"), [p0, weight])
    mod["main"] = relay.Function([p0], call)
    assert [*graph_of(mod).params] == ["p0_1"]


def test_a_long_network_is_no_deeper_than_another():
    x = relay.var("x", shape=(2, 3))
    y: Any = x
    add = relay.GlobalVar("add")
    for _ in range(3000):
        y = relay.Call(add, [y])
    mod = IRModule({"main": relay.Function([x], y), "add": added(1.0, "add")})
    graph = graph_of(mod).graph
    assert len(graph.nodes) == 3001
    assert len({one.storage for one in graph.values}) == 3


def test_control_flow_and_open_shapes_are_refused():
    x = relay.var("x", shape=(2, 3))
    for body in (
        relay.If(relay.const(True), x, x),
        relay.add(x, x),
        relay.Call(relay.GlobalVar("main"), [x]),
    ):
        mod = IRModule({"main": relay.Function([x], body)})
        with pytest.raises(CodeGenError, match=r"run by relay\.create_executor"):
            graph_of(mod)
    y = relay.var("y", shape=(relay.Any(), 3))
    with pytest.raises(CodeGenError, match=r"expected known shapes .* parameter 'y'"):
        graph_of(IRModule({"main": relay.Function([y], y)}))


def test_a_text_that_is_no_graph_is_refused():
    good = json.loads(graph_of(network()).graph.to_json())
    wrongs: list[dict[str, Any]] = [
        {"nodes": [{"op": "tvm_op"}]},
        {"heads": [[9, 0, 0]]},
        {"nodes": [{"op": "cuda_op", "name": "x"}]},
        {"attrs": {}},
    ]
    for wrong in wrongs:
        with pytest.raises(LibraryError, match="expected the JSON of a graph"):
            read_graph(json.dumps({**good, **wrong}))
    with pytest.raises(LibraryError, match="expected the JSON of a graph"):
        read_graph("no JSON")
