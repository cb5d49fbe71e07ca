"""Operators that others define: in functions of the model, or in ONNX's schema."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from parpass.errors import FrontendError, MalformedModelError, UnsupportedOpsError
from parpass.ir.node import post_order
from parpass.relay.expr import Call
from parpass.relay.frontend.onnx import graph
from tests.support.onnx.models import (
    assert_agrees,
    evaluate,
    graph_model,
    imported,
    one_node,
    random,
)


def with_functions(
    nodes: list[onnx.NodeProto], *functions: onnx.FunctionProto
) -> onnx.ModelProto:
    model = graph_model(nodes, {"x": random(2, 3)}, ["y"])
    model.opset_import.append(helper.make_opsetid("my", 1))
    model.functions.extend(functions)
    return model


def function(
    name: str,
    nodes: list[onnx.NodeProto],
    inputs: tuple[str, ...] = ("a",),
    attributes: tuple[str, ...] = (),
) -> onnx.FunctionProto:
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("my", 1)]
    return helper.make_function(
        "my", name, list(inputs), ["b"], nodes, opsets, list(attributes)
    )


def call(name: str, *inputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(name, inputs, ["y"], domain="my", **attributes)


def leaky(reference: str) -> onnx.NodeProto:
    node = helper.make_node("LeakyRelu", ["a"], ["b"])
    attribute = node.attribute.add(name="alpha", ref_attr_name=reference)
    attribute.type = onnx.AttributeProto.FLOAT
    return node


def test_a_function_of_the_model_is_its_body() -> None:
    inner = function("Inner", [helper.make_node("Neg", ["a"], ["b"])])
    nodes = [
        helper.make_node("Inner", ["a"], ["t"], domain="my"),
        helper.make_node("Relu", ["t"], ["b"]),
    ]
    model = with_functions([call("Outer", "x")], function("Outer", nodes), inner)
    mod = imported(model)
    assert evaluate(mod, random(2, 3)).tolist() == np.maximum(-random(2, 3), 0).tolist()


@pytest.mark.parametrize(("given", "alpha"), [({"slope": 0.5}, 0.5), ({}, 0.01)])
def test_a_function_is_given_its_attributes(
    given: dict[str, float], alpha: float
) -> None:
    mine = function("F", [leaky("slope")], attributes=("slope",))
    x = random(2, 3)
    result = evaluate(imported(with_functions([call("F", "x", **given)], mine)), x)
    np.testing.assert_allclose(result, np.where(x < 0, x * alpha, x), rtol=1e-6)


def test_a_function_may_be_called_without_its_last_inputs() -> None:
    mine = function("F", [helper.make_node("Clip", ["a", "", "c"], ["b"])], ("a", "c"))
    x = random(2, 3)
    result = evaluate(imported(with_functions([call("F", "x")], mine)), x)
    assert result.tolist() == x.tolist()


def test_names_of_a_body_are_its_own() -> None:
    mine = function("F", [helper.make_node("Neg", ["x"], ["b"])], ("a",))
    with pytest.raises(MalformedModelError, match="it reads 'x', that nothing defines"):
        imported(with_functions([call("F", "x")], mine))


def test_a_function_that_calls_itself_is_malformed() -> None:
    mine = function("F", [helper.make_node("F", ["a"], ["b"], domain="my")])
    with pytest.raises(MalformedModelError, match="function my::F calls itself"):
        imported(with_functions([call("F", "x")], mine))


def test_functions_that_double_without_an_end_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph, "_MOST_NODES", 50)
    functions = [function("F0", [helper.make_node("Relu", ["a"], ["b"])])]
    for at in range(1, 40):
        twice = [
            helper.make_node(f"F{at - 1}", [given], [result], domain="my")
            for given, result in (("a", "t"), ("t", "b"))
        ]
        functions.append(function(f"F{at}", twice))
    with pytest.raises(FrontendError, match="bodies and loops to expand to at most 50"):
        imported(with_functions([call("F39", "x")], *functions))


def test_unsupported_operators_of_functions_that_are_used_are_listed() -> None:
    used = function("F", [helper.make_node("Strange", ["a"], ["b"])])
    unused = function("G", [helper.make_node("Stranger", ["a"], ["b"])])
    with pytest.raises(UnsupportedOpsError) as caught:
        imported(with_functions([call("F", "x")], used, unused))
    assert caught.value.counts == {"Strange": 1}


def test_an_operator_without_a_converter_is_the_body_that_onnx_gives_it() -> None:
    assert_agrees("Swish", random(2, 3), opset=24, alpha=0.5)
    assert_agrees("Swish", random(2, 3), opset=24)


def test_a_body_may_depend_on_the_types_of_the_inputs() -> None:
    data = random(2, 3, 8)
    assert_agrees("RMSNormalization", data, random(8, seed=1), opset=23, axis=-1)
    assert_agrees("RMSNormalization", data, random(3, 8, seed=1), opset=23, axis=1)


def test_what_a_body_consists_of_leads_to_the_node() -> None:
    mod = imported({"net": one_node("Swish", random(2, 3), opset=24)})
    calls = [one for one in post_order(mod["net"].body) if isinstance(one, Call)]
    assert len(calls) > 2
    assert {one.span.line for one in calls if one.span} == {1}
    assert mod.sources["net"] == "y = Swish(x0)"


def test_an_error_inside_of_a_body_names_the_way_there() -> None:
    mine = function("F", [helper.make_node("MatMul", ["a", "a"], ["b"])])
    with pytest.raises(FrontendError) as caught:
        imported(with_functions([call("F", "x")], mine))
    assert str(caught.value).startswith("main: node 1 (my::F 'y'): MatMul 'b': ")


def test_a_body_of_onnx_that_does_not_fit_is_no_fault_of_the_model() -> None:
    """That of CenterCropPad compares lengths of int64 with those that it is given."""
    wanted = np.array([1, 2], "int32")
    with pytest.raises(FrontendError, match="CenterCropPad 'y'") as caught:
        imported(one_node("CenterCropPad", random(3, 3), wanted, opset=18))
    assert not isinstance(caught.value, MalformedModelError)


def test_a_node_for_which_onnx_can_make_no_body_is_malformed() -> None:
    mapped = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["b"])],
        "mapped",
        [helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, [2])],
    )
    cases: list[tuple[dict[str, Any], str]] = [
        ({"body": mapped}, "a sequence type"),
        ({}, "'body' is missing"),
    ]
    for attributes, why in cases:
        node = helper.make_node("SequenceMap", ["x"], ["y"], **attributes)
        model = graph_model([node], {"x": random(3, 2)}, ["y"], opset=17)
        with pytest.raises(MalformedModelError, match=f"SequenceMap 'y'.*{why}"):
            imported(model)
