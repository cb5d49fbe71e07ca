from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from parpass.errors import FrontendError, MalformedModelError, UnsupportedOpsError
from parpass.relay.expr import Call, If
from parpass.relay.interpreter.interpreter import create_executor
from parpass.relay.transform import InferType
from tests.support.onnx.models import evaluate, graph_model, imported, random, reference

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


def test_the_other_graph_may_have_operators_that_nobody_knows() -> None:
    unknown = branch(helper.make_node("Unheard", ["x"], ["o"], domain="of.others"))
    mod = imported(choice(branch(unary("Neg")), unknown, known=True))
    assert evaluate(mod, X).tolist() == (-X).tolist()
    with pytest.raises(UnsupportedOpsError, match=r"of\.others::Unheard \(1 x\)"):
        imported(choice(branch(unary("Neg")), unknown))


def test_a_condition_that_a_fixed_input_tells_leaves_one_graph() -> None:
    other = branch(helper.make_node("ReduceSum", ["x"], ["o"], keepdims=0))
    model = choice(branch(unary("Neg")), other)
    with pytest.raises(FrontendError, match=r"the choice depends on 'c'; .* const="):
        imported(model)
    mod = imported(model, const={"c": False})
    np.testing.assert_allclose(evaluate(mod, X), X.sum(), rtol=1e-5)


@pytest.mark.parametrize("cond", [np.array(1.0, "f"), np.array([True, False])])
def test_a_condition_is_one_bool(cond: Any) -> None:
    model = choice(branch(unary("Neg")), branch(unary("Abs")))
    model.graph.input[1].CopyFrom(
        helper.make_tensor_value_info(
            "c", helper.np_dtype_to_tensor_dtype(cond.dtype), cond.shape
        )
    )
    with pytest.raises(MalformedModelError, match="expected one bool for its cond"):
        imported(model)


def test_what_is_wrong_in_a_graph_inside_is_told_with_both_nodes() -> None:
    lstm = helper.make_node("LSTM", ["x", "w", "w"], ["", "o"], name="cell")
    model = choice(branch(lstm), branch(unary("Abs")), known=True)
    weight = numpy_helper.from_array(random(1, 8, 2), "w")
    model.graph.initializer.append(weight)
    with pytest.raises(MalformedModelError) as caught:
        imported(model)
    assert str(caught.value) == (
        "main: node 1 (If 'y'): LSTM 'cell': expected 3 dimensions for its X, got 2 "
        "(inputs: x: Tensor[(2, 3), float32], w: Tensor[(1, 8, 2), float32], w: "
        "Tensor[(1, 8, 2), float32])"
    )


def loop(
    *,
    count: int | None = 3,
    condition: bool | None = None,
    goes_on: str = "more",
    outputs: tuple[str, ...] = ("s", "y"),
) -> onnx.ModelProto:
    """Return a model that doubles `x` and adds the number of the step, each time.

    Args:
        count: How often; None if that is left out.
        condition: Whether it begins; None if that is left out.
        goes_on: What the body gives as the next condition.
        outputs: The last value, and those on the way.
    """
    body = helper.make_graph(
        [
            helper.make_node("Add", ["s", "s"], ["double"]),
            helper.make_node("Cast", ["i"], ["step"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Add", ["double", "step"], ["next"]),
            helper.make_node("Less", ["i", "last"], ["early"]),
            helper.make_node("ReduceMax", ["next"], ["largest"], keepdims=0),
            helper.make_node("Less", ["largest", "bound"], ["small"]),
            helper.make_node("Identity", ["next"], ["seen"]),
        ],
        "body",
        [helper.make_empty_tensor_value_info(name) for name in ("i", "more", "s")],
        [helper.make_empty_tensor_value_info(n) for n in (goes_on, "next", "seen")],
    )
    given = {"count": count, "condition": condition}
    names = ["" if value is None else name for name, value in given.items()]
    known = {name: np.array(value) for name, value in given.items() if name in names}
    known |= {"last": np.array(1), "bound": np.array(9, "f")}
    node = helper.make_node("Loop", [*names, "x"], [*outputs], body=body)
    return graph_model([node], {"x": X}, [one for one in outputs if one], known=known)


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({}, 3),
        ({"condition": True}, 3),
        ({"goes_on": "early"}, 2),
        ({"count": None, "condition": True, "goes_on": "early"}, 2),
        ({"count": 2**63 - 1, "condition": True, "goes_on": "early"}, 2),
    ],
    ids=str,
)
def test_a_loop_of_a_known_trip_count_is_written_out(
    settings: dict[str, Any], steps: int
) -> None:
    model = loop(**settings)
    last, seen = create_executor("debug", mod=imported(model)).evaluate()(X)
    wanted = [X]
    for step in range(steps):
        wanted.append(2 * wanted[-1] + step)
    np.testing.assert_allclose(last.numpy(), wanted[-1], rtol=1e-5)
    np.testing.assert_allclose(seen.numpy(), np.stack(wanted[1:]), rtol=1e-5)


def test_a_loop_agrees_with_onnxs_evaluator() -> None:
    model = loop(condition=True, outputs=("s",))
    np.testing.assert_allclose(evaluate(imported(model), X), reference(model, X))


@pytest.mark.parametrize("settings", [{"count": 0}, {"condition": False}], ids=str)
def test_a_loop_without_a_step_gives_what_it_was_given(
    settings: dict[str, Any],
) -> None:
    model = loop(**settings, outputs=("s",))
    assert evaluate(imported(model), X).tolist() == X.tolist()
    with pytest.raises(FrontendError, match="loops without a step are not supported"):
        imported(loop(**settings))


def test_a_loop_whose_end_depends_on_data_is_refused() -> None:
    with pytest.raises(FrontendError, match="the condition of the loop depends on 'x'"):
        imported(loop(goes_on="small"))
    model = loop()
    (count,) = [one for one in model.graph.initializer if one.name == "count"]
    model.graph.initializer.remove(count)
    model.graph.input.append(
        helper.make_tensor_value_info("count", count.data_type, [])
    )
    with pytest.raises(FrontendError, match="its trip count depends on 'count'; exp"):
        imported(model)
    mod = InferType()(imported(model, const={"count": 2}))
    assert "Tensor[(2, 2, 3), float32]" in str(mod["main"].ret_type)


def test_a_loop_of_too_many_steps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parpass.relay.frontend.onnx.onnx_node._MOST_STEPS", 5)
    with pytest.raises(FrontendError, match=r"expected at most 5 steps, .* got 6"):
        imported(loop(count=2**63 - 1, outputs=("s",)))
