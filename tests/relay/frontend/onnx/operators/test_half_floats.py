"""What ONNX says of half floats by one node, and Relay by several operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from parpass.relay.frontend.onnx import from_onnx
from parpass.relay.interpreter.interpreter import create_executor
from tests.support.onnx.models import evaluate, imported, one_node
from tests.support.relay.op.calls import Array

FAR = [[40000, 40000, 40000, 100], [65504, -65504, 100, 0], [1024, 1025, 1025, 1025]]
LAST_DIGIT = 2.0**-10
ONES, ZEROS = np.ones(4, "float16"), np.zeros(4, "float16")
TWICE = np.eye(4, dtype="float16") * 2


def normal(x: Array, epsilon: float = 1e-5, axis: int = 1) -> Array:
    off = x - x.mean(axis, keepdims=True)
    return off / np.sqrt(x.var(axis, keepdims=True) + epsilon)


def length(x: Array, axis: int = 1) -> Array:
    return np.sqrt((x * x).sum(axis, keepdims=True))


def log_sum_exp(x: Array) -> Array:
    top = x.max(1, keepdims=True)
    return np.log(np.exp(x - top).sum(1, keepdims=True)) + top


# The operator, its other inputs and attributes, and what it is of doubles.
NODES: list[tuple[str, list[Array], dict[str, Any], Callable[[Array], Array]]] = [
    ("LayerNormalization", [ONES, ZEROS], {"opset": 17}, normal),
    ("LpNormalization", [], {"p": 2}, lambda x: x / length(x)),
    ("MeanVarianceNormalization", [], {"axes": [1]}, lambda x: normal(x, 0)),
    ("ReduceL2", [], {"axes": [1]}, length),
    ("ReduceLogSum", [], {"axes": [1]}, lambda x: np.log(x.sum(1, keepdims=True))),
    ("ReduceLogSumExp", [], {"axes": [1]}, log_sum_exp),
    ("ReduceSumSquare", [], {"axes": [1]}, lambda x: length(x) ** 2),
    ("GlobalLpPool", [], {}, lambda x: length(x, 2)),
    ("LpPool", [], {"kernel_shape": [4]}, lambda x: length(x, 2)),
    ("Mean", [np.array(FAR, "float16")], {}, lambda x: x),
    (
        *("Sum", [-np.array(FAR, "float16"), np.ones((3, 4), "float16")], {}),
        np.ones_like,
    ),
    ("Gemm", [TWICE, ZEROS], {"alpha": 0.25}, lambda x: x / 2),
    ("InstanceNormalization", [ONES[:3], ZEROS[:3]], {}, lambda x: normal(x, axis=2)),
]


@pytest.mark.parametrize(
    ("name", "others", "how", "meaning"), NODES, ids=[one[0] for one in NODES]
)
def test_a_node_of_half_floats_is_rounded_once(
    name: str, others: list[Array], how: dict[str, Any], meaning: Callable[..., Array]
) -> None:
    x = np.array(FAR, "float16")
    x = x[None] if "Pool" in name or name == "InstanceNormalization" else x
    found = evaluate(imported(one_node(name, x, *others, **how)), x, *others)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = meaning(x.astype("float64")).astype("float16")
    assert found.dtype == "float16"
    np.testing.assert_allclose(found, wanted, LAST_DIGIT, 1e-6)


def test_statistics_of_a_normalised_layer_are_not_of_half_floats() -> None:
    x = np.array(FAR, "float16")
    model = one_node("LayerNormalization", x, ONES, opset=17)
    model.graph.node[0].output.extend(["mean", "factor"])
    model.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        for name in ("mean", "factor")
    )
    mod, _ = from_onnx(model, freeze_params=True)
    run = create_executor("debug", mod=mod).evaluate()
    result, mean, factor = (one.numpy() for one in run(x, ONES))
    wide = x.astype("float64")
    assert [one.dtype.name for one in (result, mean, factor)] == [
        *("float16", "float32", "float32")
    ]
    np.testing.assert_allclose(mean, wide.mean(1, keepdims=True), 1e-6)
    wanted = 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(factor, wanted, 1e-5)


def test_a_batch_of_half_floats_is_normalised_by_its_own_statistics() -> None:
    x = np.array(FAR, "float16").T.reshape(4, 3, 1)
    vectors = [ONES[:3], ZEROS[:3], ZEROS[:3], ONES[:3]]
    model = one_node("BatchNormalization", x, *vectors, opset=15, training_mode=1)
    model.graph.node[0].output.extend(["mean", "variance"])
    run = create_executor("debug", mod=imported(model)).evaluate()
    found = run(x, *vectors).numpy()
    wide = x.astype("float64")
    wanted = normal(wide, axis=0)
    np.testing.assert_allclose(found, wanted.astype("float16"), LAST_DIGIT, 1e-6)
