from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from parpass.errors import FrontendError, MalformedModelError
from parpass.relay.expr import Call, If
from parpass.relay.transform import InferType
from tests.support.onnx_models import evaluate, graph_model, imported, random

X = random(2, 3)


def branch(*nodes: onnx.NodeProto, outputs: tuple[str, ...] = ("o",)) -> Any:
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    return helper.make_graph(list(nodes), "branch", [], results)


def unary(op_type: str, name: str = "x") -> onnx.NodeProto:
    return helper.make_node(op_type, [name], ["o"])


def choice(then: Any, other: Any, *, known: bool | None = None) -> onnx.ModelProto:
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    given = {} if known is None else {"c": np.array(known)}
    inputs = {"x": X} if given else {"x": X, "c": np.array(True)}
    return graph_model([node], inputs, ["y"], known=given)


@pytest.mark.parametrize("known", [True, False])
def test_a_condition_that_is_known_leaves_one_graph(known: bool) -> None:
    mod = imported(choice(branch(unary("Neg")), branch(unary("Abs")), known=known))
    assert isinstance(mod["main"].body, Call)
    wanted = -X if known else np.abs(X)
    assert evaluate(mod, X).tolist() == wanted.tolist()


def test_the_other_graph_may_be_one_that_cannot_be_converted() -> None:
    faulty = branch(helper.make_node("Neg", ["ghost"], ["o"]))
    mod = imported(choice(branch(unary("Neg")), faulty, known=True))
    assert evaluate(mod, X).tolist() == (-X).tolist()


def test_a_condition_that_depends_on_data_becomes_an_if() -> None:
    mod = InferType()(imported(choice(branch(unary("Neg")), branch(unary("Abs")))))
    assert isinstance(mod["main"].body, If)
    for cond, wanted in ((True, -X), (False, np.abs(X))):
        assert evaluate(mod, X, np.array(cond)).tolist() == wanted.tolist()


def test_graphs_may_give_other_lengths() -> None:
    sums = helper.make_node("ReduceSum", ["x"], ["o"], keepdims=1)
    mod = InferType()(imported(choice(branch(sums), branch(unary("Abs")))))
    assert str(mod["main"].ret_type) == "Tensor[(?, ?), float32]"
    assert evaluate(mod, X, np.array(True)).shape == (1, 1)
    assert evaluate(mod, X, np.array(False)).shape == (2, 3)


def test_graphs_that_give_other_ranks_are_refused() -> None:
    sums = helper.make_node("ReduceSum", ["x"], ["o"], keepdims=0)
    with pytest.raises(FrontendError, match="graphs that give float32 or Tensor"):
        imported(choice(branch(sums), branch(unary("Abs"))))


def test_a_graph_inside_may_not_define_a_name_twice() -> None:
    twice = branch(unary("Neg"), unary("Abs"))
    with pytest.raises(MalformedModelError, match="'o' is defined twice"):
        imported(choice(twice, branch(unary("Abs")), known=True))


def test_several_values_come_from_one_choice() -> None:
    both = [unary("Neg"), helper.make_node("Abs", ["x"], ["p"])]
    swapped = [helper.make_node("Neg", ["x"], ["p"]), unary("Abs")]
    node = helper.make_node(
        "If",
        ["c"],
        ["y", "z"],
        then_branch=branch(*both, outputs=("o", "p")),
        else_branch=branch(*swapped, outputs=("o", "p")),
    )
    add = helper.make_node("Sub", ["y", "z"], ["d"])
    model = graph_model([node, add], {"x": X, "c": np.array(True)}, ["d"])
    mod = InferType()(imported(model))
    for cond, wanted in ((True, -X - np.abs(X)), (False, np.abs(X) + X)):
        np.testing.assert_allclose(evaluate(mod, X, np.array(cond)), wanted)


def adding_scan(**attributes: Any) -> onnx.ModelProto:
    """Return a model that sums the rows, and gives the sums on the way."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["s", "row"], ["next"]),
            helper.make_node("Identity", ["next"], ["seen"]),
        ],
        "body",
        [helper.make_empty_tensor_value_info(name) for name in ("s", "row")],
        [helper.make_empty_tensor_value_info(name) for name in ("next", "seen")],
    )
    node = helper.make_node(
        "Scan", ["zero", "x"], ["s", "y"], body=body, num_scan_inputs=1, **attributes
    )
    (axis,) = attributes.get("scan_input_axes", [0])
    known = {"zero": np.zeros(X.shape[1] if axis == 0 else X.shape[0], "float32")}
    return graph_model([node], {"x": X}, ["y"], known=known)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("turned", [False, True])
def test_a_scan_gives_what_a_loop_gives(axis: int, turned: bool) -> None:
    directions = [int(turned)]
    model = adding_scan(
        scan_input_axes=[axis],
        scan_output_axes=[axis],
        scan_input_directions=directions,
        scan_output_directions=directions,
    )
    rows = np.flip(X, axis) if turned else X
    wanted = rows.cumsum(axis=axis)
    wanted = np.flip(wanted, axis) if turned else wanted
    np.testing.assert_allclose(evaluate(imported(model), X), wanted, rtol=1e-5)


def test_a_graph_of_another_number_of_inputs_is_a_fault() -> None:
    model = adding_scan()
    body = next(one for one in model.graph.node[0].attribute if one.name == "body")
    del body.g.input[1]
    with pytest.raises(
        MalformedModelError, match="expected a graph of 2 inputs, got 1"
    ):
        imported(model)
