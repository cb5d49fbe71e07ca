"""`mod, params`: weights are parameters with values, or constants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from examples.real_networks import load
from parpass import relay
from parpass.cli.output.failure import command_text
from parpass.errors import FrontendError, PassInputError
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType
from parpass.relay.build_module import bind_params_by_name
from parpass.relay.frontend.onnx import from_onnx
from parpass.relay.frontend.onnx.importer import import_models
from parpass.relay.frontend.onnx.parameters import InputSettings
from parpass.relay.interpreter.interpreter import create_executor
from parpass.relay.text.parser import parse
from tests.support.onnx.models import evaluate, graph_model, imported, random

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
    with pytest.raises(PassInputError, match=r"got tuple; .* write mod, params ="):
        relay.transform.InferType()(from_onnx(scaled()))


def open_model() -> onnx.ModelProto:
    """Return a model of two inputs whose dimensions are open, and a scalar."""
    nodes = [
        helper.make_node("Add", ["x", "y"], ["a"]),
        helper.make_node("Mul", ["a", "scale"], ["z"]),
    ]
    inputs = {"x": random(2, 3), "y": random(2, 3), "scale": np.array(1, "f")}
    model = graph_model(nodes, inputs, ["z"])
    for given, names in zip(model.graph.input, [("n", "m"), ("n", "")], strict=False):
        for dim, name in zip(given.type.tensor_type.shape.dim, names, strict=True):
            dim.Clear()
            if name:
                dim.dim_param = name
    return model


def shapes(**settings: Any) -> list[Any]:
    params = imported(open_model(), **settings)["main"].params
    return [str(one.type_annotation) for one in params[:2]]


def test_a_dimension_is_set_by_its_name_wherever_it_occurs() -> None:
    assert shapes(dim={"n": 2}) == [
        "Tensor[(2, ?), float32]",
        "Tensor[(2, ?), float32]",
    ]
    both = ["Tensor[(2, 3), float32]"] * 2
    assert shapes(dim={"n": 2, "*": 3}) == both
    assert shapes(dim={"*": 3}, shape={"x": (2, 3), "y": (2, 3)}) == both


def test_a_shape_may_leave_a_dimension_open_that_all_others_are_not() -> None:
    found = shapes(dim={"*": 3}, shape={"x": (relay.Any(), 3)})
    assert found == ["Tensor[(?, 3), float32]", "Tensor[(3, 3), float32]"]


def test_an_input_that_is_fixed_is_a_constant() -> None:
    mod = imported(open_model(), const={"scale": 2})
    assert [one.name_hint for one in mod["main"].params] == ["x", "y"]
    assert evaluate(mod, np.ones((1, 3), "f"), np.ones((1, 3), "f")).tolist() == [
        [4] * 3
    ]
    whole = imported(open_model(), dim={"*": 1}, const=dict.fromkeys(["x", "y"], 1.5))
    assert evaluate(whole, np.array(3, "f")).tolist() == [[9]]
    array = random(2, 3)
    fixed = imported(open_model(), const={"x": array, "y": array, "scale": 1})
    assert evaluate(fixed).tolist() == (array + array).tolist()


def test_a_value_that_an_integer_input_cannot_hold_is_refused() -> None:
    model = open_model()
    model.graph.input[2].type.tensor_type.elem_type = onnx.TensorProto.INT64
    for value in (1.5, [2.5], np.float32(0.5)):
        with pytest.raises(FrontendError, match="expected values of int64 for 'scale'"):
            imported(model, const={"scale": value})


def test_the_default_of_an_input_that_is_fixed_does_not_count() -> None:
    model = open_model()
    default = numpy_helper.from_array(np.array(5, "f"), "scale")
    model.graph.initializer.append(default)
    mod, params = from_onnx(model, const={"scale": 2})
    assert params == {}
    assert evaluate(mod, np.ones((1, 3), "f"), np.ones((1, 3), "f")).tolist() == [
        [4] * 3
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": {"k": 1}}, "^dim= names 'k', but no model has such a dimension"),
        ({"dim": {"n": -1}}, r"^expected a length for dim\['n'\], got -1"),
        ({"dim": {"n": True}}, r"^expected a length for dim\['n'\], got True"),
        ({"dim": [1]}, r"^expected dim= by the names of dimensions, .* try dim=\{'bat"),
        ({"const": {"scal": 1}}, "^const= names 'scal', .* did you mean 'scale'"),
        ({"const": {"scale": "x"}}, "const=: expected numbers for input 'scale'"),
        ({"const": {"scale": [1, 2]}}, "value of float32 for .*, got one of the shape"),
        ({"const": {"x": [1, 2]}}, r"Tensor\[\(\?, \?\), float32\] for input 'x', got"),
        ({"const": {"scale": 1j}}, "const=: expected numbers of float32"),
        ({"dim": {"": 1}}, "^dim= names '', but no model has such a dimension"),
        ({"const": 1}, "^expected const= by the names of inputs, got 1"),
    ],
)
def test_what_is_said_of_inputs_is_checked(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(FrontendError, match=message):
        imported(open_model(), **settings)


def test_shapes_that_have_to_be_known_are_asked_for_together() -> None:
    settings = InputSettings(dims={"m": 3}, needs_shapes=True)
    with pytest.raises(FrontendError) as caught:
        import_models(open_model(), settings)
    assert str(caught.value) == (
        "main: the shapes of its inputs must be known; open are 'x' of (n, 3), 'y' "
        "of (n, ?); pass from_onnx lengths by dim=, or whole shapes by shape=, with "
        "your lengths instead of 1: dim={'n': 1, '*': 1}"
    )


def test_the_advice_for_a_shape_that_is_said_to_be_open_is_a_shape() -> None:
    said = {"x": (relay.Any(), 3)}
    settings = InputSettings(shapes=said, dims={"n": 1}, needs_shapes=True)
    with pytest.raises(FrontendError) as caught:
        import_models(open_model(), settings)
    assert str(caught.value).endswith(": dim={'*': 1}, shape={'x': (1, 3)}")
    with pytest.raises(FrontendError) as caught:
        import_models(open_model(), replace(settings, dims={"*": 1}))
    assert command_text(caught.value).endswith(" instead of 1: --shape x:1,3")


def test_values_that_are_given_tell_open_shapes() -> None:
    shapes = {"x": (2, 3), "y": (2, 3), "another": (1,)}
    settings = InputSettings(given=shapes, needs_shapes=True)
    params = import_models(open_model(), settings)[0]["main"].params
    assert str(params[1].type_annotation) == "Tensor[(2, 3), float32]"
    wrong = InputSettings(given={**shapes, "x": (2,)}, needs_shapes=True)
    with pytest.raises(
        FrontendError, match=r"'x' is Tensor.*the value .* shape \(2,\)"
    ):
        import_models(open_model(), wrong)


def test_of_many_open_dimensions_the_advice_sets_all_at_once() -> None:
    names = [f"d{at}" for at in range(9)]
    model = graph_model(
        [helper.make_node("Relu", ["x"], ["y"])], {"x": random(*[1] * 9)}, ["y"]
    )
    for dim, name in zip(
        model.graph.input[0].type.tensor_type.shape.dim, names, strict=True
    ):
        dim.dim_param = name
    with pytest.raises(FrontendError, match=r"instead of 1: dim=\{'\*': 1\}$"):
        import_models(model, InputSettings(needs_shapes=True))
