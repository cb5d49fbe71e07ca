"""ONNX's own backend cases, run through our frontend and interpreter."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.relay.expr import Expr
from parpass.relay.interpreter.interpreter import create_executor
from parpass.relay.op import Op
from tests.support.onnx.models import imported

# What is not a tensor of numbers, in the attributes, inputs or results of a case.
Arrays = Sequence[Any]


# Where the cases of nodes are kept, as to make them takes longer than to run them.
KEPT = Path(__file__).parents[3] / ".pytest_cache" / "onnx_cases"


@cache
def cases(kind: str) -> dict[str, TestCase]:
    """Return the cases of a kind: `node`, `simple`, `pytorch-operator`, and so on."""
    if kind != "node":
        return {case.name: case for case in load_model_tests(kind=kind)}
    path = KEPT / f"node-{onnx.__version__}-{np.__version__}-{sys.hexversion:x}"
    with contextlib.suppress(Exception):  # it is not there, or damaged
        return pickle.loads(path.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, where ONNX computes what it expects
        found = {case.name: case for case in load_model_tests(kind=kind)}
    with contextlib.suppress(OSError):  # nothing can be written there
        KEPT.mkdir(parents=True, exist_ok=True)
        own = path.with_name(f"{path.name}-{os.getpid()}")  # others may write it now
        own.write_bytes(pickle.dumps(found))
        own.replace(path)
    return found


def model_of(case: TestCase) -> onnx.ModelProto:
    """Return the model of a case."""
    if case.model is not None:
        return case.model
    model = onnx.ModelProto()
    model.ParseFromString((Path(case.model_dir or "") / "model.onnx").read_bytes())
    return model


def data_of(case: TestCase) -> list[tuple[Arrays, Arrays]]:
    """Return inputs and results of a case."""
    if case.data_sets is not None:
        sets = cast("list[tuple[Arrays, Arrays]]", case.data_sets)
        return [([*map(_plain, a)], [*map(_plain, b)]) for a, b in sets]
    folders = sorted(Path(case.model_dir or "").glob("test_data_set_*"))
    return [(_arrays(folder, "input"), _arrays(folder, "output")) for folder in folders]


def _plain(value: Any) -> Any:
    return (
        numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
    )


def _arrays(folder: Path, what: str) -> Arrays:
    count = len(list(folder.glob(f"{what}_*.pb")))
    return [_array(folder / f"{what}_{at}.pb") for at in range(count)]


def _array(path: Path) -> Any:
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def run(
    case: TestCase, *, opset: int | None = None, first: int | None = None
) -> IRModule:
    """Import and evaluate a case and check its results.

    Args:
        case: The case; shapes that its model leaves open are those of its inputs.
        opset: The version of the operators, where the model's own is too old.
        first: From which input on the inputs are known beforehand; None for none.

    Returns:
        The module of its last data set.

    Raises:
        Exception: It is not supported, or gives something else.
    """
    module = IRModule()
    for inputs, outputs in data_of(case):
        model = model_of(case)
        if first is not None:
            model = _frozen(model, inputs, first)
        module = imported(model, shape=_open_shapes(model, inputs), opset=opset)
        params = len(module["main"].params)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            evaluate = create_executor("debug", mod=module).evaluate()
            results: Any = evaluate(*inputs[:params])
        several = [results] if len(outputs) == 1 else list(results)
        for result, wanted in zip(several, outputs, strict=True):
            _check(case, result.numpy(), np.asarray(wanted))
    return module


def _frozen(model: onnx.ModelProto, inputs: Arrays, first: int) -> onnx.ModelProto:
    """Return a model whose inputs from one on are known: shapes, axes, bounds."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for entry, value in list(zip(copy.graph.input, inputs, strict=False))[first:]:
        copy.graph.initializer.append(
            numpy_helper.from_array(np.asarray(value), entry.name)
        )
    return copy


def _open_shapes(model: onnx.ModelProto, inputs: Arrays) -> dict[str, Any]:
    known = {one.name for one in model.graph.initializer}
    return {
        entry.name: value.shape
        for entry, value in zip(model.graph.input, inputs, strict=False)
        if entry.name not in known
        and hasattr(value, "shape")
        and not _is_closed(entry.type.tensor_type)
    }


def _is_closed(tensor: onnx.TypeProto.Tensor) -> bool:
    dims = tensor.shape.dim
    return tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in dims)


def _check(case: TestCase, found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if found.dtype.kind == "V":  # floats of which numpy knows no arithmetic
        found, wanted = found.astype("float64"), wanted.astype("float64")
    np.testing.assert_allclose(
        found, wanted, rtol=max(case.rtol, 1e-4), atol=max(case.atol, 1e-5)
    )


def operators_of(module: IRModule) -> set[str]:
    """Return the names of the operators that a module calls."""
    nodes = [
        node
        for fn in module.functions.values()
        for node in post_order(cast("Expr", fn))
    ]
    return {node.name for node in nodes if isinstance(node, Op)}
