"""Memory of networks: no value is overwritten while it is needed.

Graphs of lowered networks, as TVM's graph executor has them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import IRModule, relay
from parpass.errors import CodeGenError, LibraryError
from parpass.relay.backend.graph_executor_codegen import KernelCall, graph_of, planned
from parpass.runtime.graph_json import read_graph
from tests.support.profiles import examples
from tests.support.relay.lowered_networks import added, network

SIZES = st.sampled_from([0, 1, 4, 100, 128, 4096, 100_000])


@st.composite
def plans(draw: st.DrawFn) -> tuple[list[KernelCall], list[int], set[int]]:
    """Draw calls that read values from before, sizes, and which values are kept."""
    inputs = draw(st.integers(1, 3))
    steps, count = list[KernelCall](), inputs
    for _ in range(draw(st.integers(0, 12))):
        reads = draw(st.lists(st.integers(0, count - 1), max_size=3))
        writes = range(count, count + draw(st.integers(1, 2)))
        steps.append(KernelCall(reads, writes))
        count = writes.stop
    sizes = draw(st.lists(SIZES, min_size=count, max_size=count))
    return steps, sizes, draw(st.sets(st.integers(0, count - 1), max_size=3))


@given(plans())
@examples(2)
def test_no_two_values_that_live_at_once_share_memory(
    plan: tuple[list[KernelCall], list[int], set[int]],
):
    steps, sizes, kept = plan
    found = planned(steps, sizes, kept)
    holds: dict[int, int] = {}  # the value that is in a memory
    written = {value for step in steps for value in step.writes}
    for value in {*range(len(sizes))} - written:
        assert found[value] not in holds
        holds[found[value]] = value
    for reads, writes in steps:
        for value in writes:
            holds[found[value]] = value
        for value in (*reads, *writes):  # a result may not lie where an operand lies
            assert holds[found[value]] == value
    for value in kept | ({*range(len(sizes))} - written):
        assert holds[found[value]] == value


def test_a_chain_takes_two_memories_whatever_its_length():
    steps = [KernelCall([at], [at + 1]) for at in range(50)]
    found = planned(steps, [100] * 51, {50})
    assert len({*found[1:]}) == 2
    assert found[0] not in found[1:]


def test_the_smallest_that_is_large_enough_is_taken():
    # 1, 2 and 3 are free when 4 is computed.
    steps = [
        KernelCall([0], [1, 2, 3]),
        KernelCall([1, 2, 3], [4]),
        KernelCall([4], [5]),
    ]
    found = planned(steps, [8, 400, 100, 1000, 8, 90], {5})
    assert found[5] == found[2]


def test_what_is_much_too_large_is_left_for_others():
    steps = [KernelCall([0], [1]), KernelCall([1], [2]), KernelCall([2], [3])]
    found = planned(steps, [8, 100_000, 8, 8], {3})
    assert len({*found}) == 4


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
        with pytest.raises(CodeGenError, match=r"run it by relay\.create_executor"):
            graph_of(mod)
    y, z = (relay.var(name, shape=(relay.Any(), 3)) for name in "yz")
    both = relay.Function([y, x, z], relay.Tuple([y, z]))
    with pytest.raises(CodeGenError) as caught:
        graph_of(IRModule({"main": both}))
    assert str(caught.value) == (
        "expected known shapes for the graph executor, got open ones of the "
        "parameters 'y' of Tensor[(?, 3), float32], 'z' of Tensor[(?, 3), float32]; "
        "pass shape= or dim= to from_onnx, or run the program by relay.create_executor"
    )


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
