"""The nine networks that the onnx package ships; nobody here wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from examples.real_networks import GIANTS, example_input, load, network_paths
from parpass import relay
from parpass.ir.types import FuncType, TensorType
from parpass.ir.wire import post_order
from parpass.relay.expr import Call
from tests.support.onnx.models import evaluate, imported

NETWORKS = sorted(network_paths())


def test_there_are_nine_networks() -> None:
    assert len(NETWORKS) == 9
    assert set(NETWORKS) > GIANTS


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_imports_with_the_types_that_its_file_declares(name: str) -> None:
    path = network_paths()[name]
    mod = relay.transform.InferType()(imported(path))
    (declared,) = onnx.load_model_from_string(path.read_bytes()).graph.output
    shape = tuple(dim.dim_value for dim in declared.type.tensor_type.shape.dim)
    assert shape[:2] == (1, 1000)
    assert mod["main"].checked_type == FuncType(
        (TensorType((1, 3, 224, 224)),), TensorType(shape)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["squeezenet", "shufflenet"], id="small"),
        pytest.param(NETWORKS, id="all", marks=pytest.mark.stress),
    ],
)
def test_networks_make_one_module_in_which_every_node_has_its_span(
    names: list[str],
) -> None:
    paths: list[Path] = [network_paths()[name] for name in names]
    mod = imported(paths)
    assert list(mod.functions_by_name) == [path.stem for path in paths]
    for path, function in zip(paths, mod.functions_by_name.values(), strict=True):
        calls = [node for node in post_order(function) if isinstance(node, Call)]
        assert all(call.span is not None for call in calls)
        assert {call.span.source_name for call in calls if call.span} == {path.name}


@pytest.mark.slow
def test_filled_weights_differ_and_are_the_same_for_the_same_seed() -> None:
    first, again, other = (load("squeezenet", seed) for seed in (0, 0, 1))
    assert first == again != other
    assert "ConstantOfShape" not in {node.op_type for node in first.graph.node}


@pytest.mark.slow
def test_squeezenet_gives_what_the_reference_evaluator_gives() -> None:
    model = load("squeezenet")
    image = example_input(model)
    evaluator: Any = ReferenceEvaluator(model)
    (expected,) = evaluator.run(None, image)
    result = evaluate(imported(model), *image.values())
    assert result.shape == expected.shape == (1, 1000, 1, 1)
    assert 0.01 < expected.max() < 0.9
    np.testing.assert_allclose(result, expected, atol=1e-4 * expected.max(), rtol=0)
