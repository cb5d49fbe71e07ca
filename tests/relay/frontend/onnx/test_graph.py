"""What becomes of a graph as a whole: what is constant is folded."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from parpass import relay
from parpass.errors import FrontendError, MalformedModelError
from parpass.ir.node import post_order
from parpass.relay.expr import Constant, Tuple
from parpass.relay.frontend.onnx import from_onnx
from parpass.relay.frontend.onnx.operators import CONVERTERS
from parpass.relay.transform import InferType
from parpass.runtime.devices import cpu
from parpass.runtime.graph_executor import GraphModule
from parpass.transform import PassContext
from tests.relay.frontend.onnx.misuse import case_of_each_operator, misused
from tests.support.onnx.cases import cases, data_of, model_of
from tests.support.onnx.models import (
    evaluate,
    graph_model,
    imported,
    one_node,
    random,
    reference,
)


def with_constants(name: str) -> onnx.ModelProto:
    """Return the model of a case whose inputs are constants of the graph."""
    case = cases("node")[name]
    (inputs, _), *_ = data_of(case)
    model = onnx.ModelProto()
    model.CopyFrom(model_of(case))
    graph = model.graph
    known = [
        helper.make_node("Constant", [], [one.name], value=numpy_helper.from_array(at))
        for one, at in zip(graph.input, inputs, strict=True)
    ]
    nodes = [*known, *graph.node]
    del graph.input[:], graph.node[:]
    graph.node.extend(nodes)
    return model


@pytest.mark.slow
def test_every_operator_is_folded_where_its_inputs_are_constants() -> None:
    table = case_of_each_operator()
    assert len(table) > 140
    left: dict[str, str] = {}
    for op_type, name in table.items():
        body = imported(with_constants(name))["main"].body
        results = body.fields if isinstance(body, Tuple) else [body]
        if not all(isinstance(one, Constant) for one in results):
            left[op_type] = str(body)
    assert [*left] == ["Dropout"]  # it is of networks that are trained: a pass drops it


X = random(1, 2, 5, 4)
SHAPED_BY_CONSTANTS = {
    "nearest": one_node(
        "Resize",
        X,
        None,
        np.array([1, 1, 1.5, 1.3], "float32"),
        known=(2,),
        nearest_mode="floor",
    ),
    "wrap": one_node(
        "Pad", X, np.array([0, 0, 2, 1, 0, 0, 1, 3]), known=(1,), opset=19, mode="wrap"
    ),
}


@pytest.mark.parametrize("kind", SHAPED_BY_CONSTANTS)
def test_shapes_that_constants_tell_are_known(kind: str) -> None:
    model = SHAPED_BY_CONSTANTS[kind]
    mod = InferType()(imported(model))
    body: Any = mod["main"].body
    types = [getattr(one, "checked_type_", None) for one in post_order(body)]
    assert not any("?" in str(one) for one in types)
    np.testing.assert_allclose(evaluate(mod, X), reference(model, X), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("kind", SHAPED_BY_CONSTANTS)
def test_shapes_that_constants_tell_are_built_at_every_level(
    kind: str, level: int
) -> None:
    model = SHAPED_BY_CONSTANTS[kind]
    with PassContext(opt_level=level):
        library = relay.build(imported(model), "llvm")
    module = GraphModule(library["default"](cpu()))
    module.set_input("x0", X)
    module.run()
    found = module.get_output(0).numpy()
    np.testing.assert_allclose(found, reference(model, X), rtol=1e-6)


def test_weights_are_not_folded_into_others() -> None:
    """They may become parameters, save where only their values tell a shape."""
    nodes = [
        helper.make_node("Transpose", ["w"], ["t"]),
        helper.make_node("Split", ["t"], ["a", "b", "c"]),
        helper.make_node("MatMul", ["x", "t"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["m"]),
        helper.make_node("NonZero", ["w"], ["places"]),
    ]
    w = np.array([[1, 0, 2], [3, 4, 0]], "float32")
    model = graph_model(nodes, {"x": random(2, 3)}, ["m", "places"], known={"w": w})
    mod, params = from_onnx(model)
    assert [*params] == ["w"]
    body: Any = InferType()(mod)["main"].body
    product, places = body.fields
    assert isinstance(places, Constant)
    assert not any(isinstance(one, Constant) for one in post_order(product))


def test_a_constant_that_is_too_large_is_left_to_the_program() -> None:
    """Nothing that a short model says fills the memory while it is imported."""
    value = numpy_helper.from_array(np.zeros((1,), "float32"))
    nodes = [
        helper.make_node("Constant", [], ["one"], value=value),
        helper.make_node("Exp", ["one"], ["e"]),
        helper.make_node("Tile", ["e", "times"], ["y"]),
    ]
    model = graph_model(nodes, {}, ["y"], known={"times": np.array([2**40])})
    assert not isinstance(imported(model)["main"].body, Constant)


# What Python says, which tells nobody what is wrong with a model.
OF_PYTHON = "cannot be imported: "


def untold(model: onnx.ModelProto, op_type: str) -> str:
    """Return what is wrong with the error of a model; nothing if it is imported."""
    try:
        with np.errstate(all="ignore"):
            InferType()(imported(model))
    except FrontendError as error:
        text = str(error)
        tells = f"main: node 1 ({op_type} '" in text and "(inputs: " in text
        return "" if tells and OF_PYTHON not in text else text
    except Exception as error:  # noqa: BLE001 -- whatever it is
        return f"{type(error).__name__}: {error}"
    return ""


def all_untold(step: int) -> list[str]:
    """Return what is wrong, of every so many wrong uses of each operator."""
    return [
        f"{name}, {what}: {told}"
        for op_type, name in case_of_each_operator().items()
        for what, model in itertools.islice(misused(name), None, None, step)
        if (told := untold(model, op_type))
    ]


@pytest.mark.slow
def test_wrong_uses_are_told_with_node_operator_and_inputs() -> None:
    assert all_untold(step=7) == []


@pytest.mark.stress
def test_all_wrong_uses_are_told_with_node_operator_and_inputs() -> None:
    assert all_untold(step=1) == []


def test_what_no_converter_expects_is_told_with_its_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def careless(_node: object) -> None:
        raise IndexError("out of range")

    monkeypatch.setitem(CONVERTERS, "Abs", careless)
    with pytest.raises(FrontendError) as caught:
        imported(one_node("Abs", random(2)))
    assert str(caught.value) == (
        "main: node 1 (Abs 'y'): it cannot be imported: IndexError: out of range "
        "(inputs: x0: Tensor[(2,), float32])"
    )
    assert isinstance(caught.value.__cause__, IndexError)
    # What ONNX itself says against a node tells more.
    monkeypatch.setitem(CONVERTERS, "Gemm", careless)
    with pytest.raises(MalformedModelError, match="Input 0 expected to have rank 2"):
        imported(one_node("Gemm", random(2), random(2, 2)))


def test_a_long_list_of_inputs_is_cut() -> None:
    model = one_node("Concat", *[random(2)] * 12)
    with pytest.raises(
        FrontendError, match=r"x9: Tensor\[\(2,\), float32\], 2 more\)$"
    ):
        imported(model)
