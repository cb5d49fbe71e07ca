"""ONNX's reference evaluator as an independent oracle for single operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

Array = npt.NDArray[Any]


def onnx_value(
    op_type: str, *inputs: Array, opset: int = 15, **attributes: Any
) -> Array:
    """Return the first output of one ONNX operator on float arrays."""
    names = [f"x{at}" for at in range(len(inputs))]
    node = helper.make_node(op_type, names, ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    evaluator: Any = ReferenceEvaluator(model)
    return np.asarray(evaluator.run(None, dict(zip(names, inputs, strict=True)))[0])
