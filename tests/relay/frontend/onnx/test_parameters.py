"""`mod, params`: weights are parameters with values, or constants."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from examples.real_networks import load
from parpass import relay
from parpass.errors import FrontendError, PassInputError
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType
from parpass.relay.build_module import bind_params_by_name
from parpass.relay.frontend.onnx import from_onnx
from parpass.relay.interpreter.interpreter import create_executor
from parpass.relay.text.parser import parse
from tests.support.onnx_models import graph_model, imported, random

W, B = random(3, seed=1), random(3, seed=2)


def scaled(weight: str = "layer.weight") -> onnx.ModelProto:
    """Return a model that multiplies, adds and reshapes."""
    nodes = [
        helper.make_node("Mul", ["x", weight], ["m"]),
        helper.make_node("Add", ["m", "layer/bias"], ["a"]),
        helper.make_node("Reshape", ["a", "to"], ["y"]),
    ]
    known = {"to": np.array([3, 1]), "layer/bias": B, "left over": B, weight: W}
    return graph_model(nodes, {"x": random(3)}, ["y"], known=known)


def test_weights_are_parameters_after_the_inputs_in_the_models_order() -> None:
    mod, params = from_onnx(scaled())
    given = mod["main"].params
    assert [one.name_hint for one in given] == ["x", "layer/bias", "layer.weight"]
    assert given[1].type_annotation == TensorType((3,), "float32")
    assert list(params) == ["layer/bias", "layer.weight"]
    assert (params["layer.weight"].numpy() == W).all()


def test_a_program_runs_on_its_parameters() -> None:
    mod, params = from_onnx(scaled())
    (x,) = (random(3),)
    result = create_executor("graph", mod=mod).evaluate()(x, **params)
    np.testing.assert_allclose(result.numpy(), (x * W + B).reshape(3, 1), rtol=1e-6)
    result = create_executor("graph", mod, params=params).evaluate()(x)
    np.testing.assert_allclose(result.numpy(), (x * W + B).reshape(3, 1), rtol=1e-6)


def test_frozen_weights_are_constants() -> None:
    mod, params = from_onnx(scaled(), freeze_params=True)
    assert [one.name_hint for one in mod["main"].params] == ["x"]
    assert params == {}


def test_to_bind_the_values_is_to_freeze_them() -> None:
    mod, params = from_onnx(scaled())
    bound = bind_params_by_name(mod["main"], params)
    assert_structural_equal(bound, imported(scaled())["main"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_to_bind_the_weights_of_a_network_is_to_freeze_them(name: str) -> None:
    mod, params = from_onnx(load(name))
    assert len(params) > 20
    relay.transform.InferType()(mod)
    bound = bind_params_by_name(mod["main"], params)
    assert_structural_equal(bound, imported(load(name))["main"])


def test_weights_of_several_models_are_told_apart() -> None:
    mod, params = from_onnx({"one": scaled("w"), "two": scaled("w")})
    assert [*params] == ["one.layer/bias", "one.w", "two.layer/bias", "two.w"]
    assert [one.name_hint for one in mod["two"].params[1:]] == [*params][2:]


def test_weights_inside_of_nodes_are_constants() -> None:
    inner = graph_model(
        [helper.make_node("Add", ["w", "inner"], ["z"])], {}, ["z"], known={"inner": B}
    )
    node = helper.make_node(
        "If", ["flag"], ["y"], then_branch=inner.graph, else_branch=inner.graph
    )
    model = graph_model([node], {"flag": np.array(True)}, ["y"], known={"w": W})
    mod, params = from_onnx(model)
    assert [*params] == ["w"]
    assert [one.name_hint for one in mod["main"].params] == ["flag", "w"]


def test_names_that_are_no_words_survive_the_text() -> None:
    mod, _ = from_onnx(scaled())
    assert '%"layer.weight": Tensor[(3,), float32]' in str(mod)
    assert_structural_equal(parse(mod.astext()), mod)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (b"model",),
            "expected an onnx.ModelProto .* got bytes; try onnx.load_model",
        ),
        ((scaled().graph,), "got GraphProto; try the model that the graph is from"),
        (([scaled(), None],), "expected an onnx.ModelProto .* got NoneType"),
        (
            (scaled(), (1, 3)),
            r"shape= by the names of inputs, got \(1, 3\); try",
        ),
        ((scaled(), {"x": 3}), r"sequence of dimensions for shape\['x'\], got 3"),
        ((scaled(), None, "float23"), "dtype=: no dtype named 'float23'"),
        ((scaled(), None, {"x": "float23"}), "dtype=: no dtype named 'float23'"),
        ((scaled(), None, 32), "expected dtype= by the names of inputs, got 32"),
    ],
)
def test_what_is_no_model_shape_or_dtype_is_refused(
    arguments: tuple[object, ...], message: str
) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(*arguments)  # pyright: ignore[reportArgumentType] -- that is it


def test_a_pass_on_the_pair_says_what_was_forgotten() -> None:
    with pytest.raises(PassInputError, match=r"got tuple; .* as in mod, params ="):
        relay.transform.InferType()(from_onnx(scaled()))
