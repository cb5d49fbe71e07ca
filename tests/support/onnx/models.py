"""Small ONNX models, and what they and their imports compute."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from parpass.ir.module import IRModule
from parpass.relay.frontend.onnx import from_onnx
from parpass.relay.frontend.onnx.importer import Models
from parpass.relay.interpreter.interpreter import create_executor

Array = npt.NDArray[Any]


def random(*shape: int, seed: int = 0, dtype: str = "float32") -> Array:
    """Return random numbers around 0."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def graph_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Array],
    outputs: Sequence[str],
    *,
    known: Mapping[str, Array] | None = None,
    opset: int = 13,
    name: str = "graph",
) -> onnx.ModelProto:
    """Return a model of these nodes; `known` are initializers."""
    graph = helper.make_graph(
        list(nodes),
        name,
        [
            helper.make_tensor_value_info(
                at, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for at, array in inputs.items()
        ],
        [helper.make_empty_tensor_value_info(at) for at in outputs],
        [numpy_helper.from_array(array, at) for at, array in (known or {}).items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    )


def one_node(
    op_type: str,
    *arrays: Array | None,
    known: Collection[int] = (),
    opset: int = 13,
    domain: str = "",
    **attributes: Any,
) -> onnx.ModelProto:
    """Return a model of one node; `known` are the positions that are initializers.

    An input that is None is left out.
    """
    names = ["" if one is None else f"x{at}" for at, one in enumerate(arrays)]
    node = helper.make_node(op_type, names, ["y"], domain=domain, **attributes)
    given = {f"x{at}": one for at, one in enumerate(arrays) if one is not None}
    constants = {f"x{at}" for at in known}
    return graph_model(
        [node],
        {name: one for name, one in given.items() if name not in constants},
        ["y"],
        known={name: one for name, one in given.items() if name in constants},
        opset=opset,
    )


def reference(model: onnx.ModelProto, *arrays: Array) -> Any:
    """Return what ONNX's own evaluator computes of a model with one output."""
    names = [one.name for one in model.graph.input]
    given = dict(zip(names, arrays, strict=True))
    evaluator: Any = ReferenceEvaluator(model)
    (result,) = evaluator.run(None, given)
    return result


def imported(model: Models, **settings: Any) -> IRModule:
    """Return the module of one or many models, their weights in it."""
    return from_onnx(model, **settings, freeze_params=True)[0]


def evaluate(mod: IRModule, *arrays: Array) -> Any:
    """Return what the interpreter computes of `main`."""
    return create_executor("debug", mod=mod).evaluate()(*arrays).numpy()


def assert_agrees(
    op_type: str,
    *arrays: Array | None,
    known: Collection[int] = (),
    opset: int = 13,
    **attributes: Any,
) -> None:
    """Check the import of one node against ONNX's own evaluator."""
    model = one_node(op_type, *arrays, known=known, opset=opset, **attributes)
    given = [
        one for at, one in enumerate(arrays) if one is not None and at not in known
    ]
    expected = np.asarray(reference(model, *given))
    result = evaluate(imported(model), *given)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
