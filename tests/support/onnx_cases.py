"""ONNX's own backend cases, run through our frontend and interpreter."""

from __future__ import annotations

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

from parpass.errors import FrontendError
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx import from_onnx
from parpass.relay.interpreter import create_executor
from parpass.relay.module import IRModule
from parpass.relay.node import post_order
from parpass.relay.op import Op

# What is not a tensor of numbers, in the attributes, inputs or results of a case.
Arrays = Sequence[Any]


@cache
def cases(kind: str) -> dict[str, TestCase]:
    """Return the cases of a kind: `node`, `simple`, `pytorch-operator`, and so on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, where ONNX computes what it expects
        found = load_model_tests(kind=kind)
    return {case.name: case for case in found}


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


def opset_of(model: onnx.ModelProto) -> int:
    """Return the version of ONNX's own operators, 0 where it has none."""
    found = {entry.domain: entry.version for entry in model.opset_import}
    return found.get("", 0)


def frozen(model: onnx.ModelProto, inputs: Arrays, first: int) -> onnx.ModelProto:
    """Return a model whose inputs from one on are known: shapes, axes, bounds."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for entry, value in list(zip(copy.graph.input, inputs, strict=False))[first:]:
        copy.graph.initializer.append(
            numpy_helper.from_array(np.asarray(value), entry.name)
        )
    return copy


def run(case: TestCase) -> IRModule:
    """Import and evaluate a case and check its results.

    Returns:
        The module of its last data set.

    Raises:
        Exception: It is not supported, or gives something else.
    """
    model = model_of(case)
    # The oldest cases use nothing that has changed since the oldest version we read.
    opset = 7 if 0 < opset_of(model) < 7 else None
    module = IRModule()
    for inputs, outputs in data_of(case):
        module = _imported(model, inputs, opset)
        params = len(module["main"].params)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            evaluate = create_executor("debug", mod=module).evaluate()
            results: Any = evaluate(*inputs[:params])
        several = [results] if len(outputs) == 1 else list(results)
        for result, wanted in zip(several, outputs, strict=True):
            _check(case, result.numpy(), np.asarray(wanted))
    return module


def _check(case: TestCase, found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    np.testing.assert_allclose(
        found, wanted, rtol=max(case.rtol, 1e-4), atol=max(case.atol, 1e-5)
    )


def _imported(model: onnx.ModelProto, inputs: Arrays, opset: int | None) -> IRModule:
    """Return the module, with as few of the inputs known beforehand as will do."""
    for first in (len(inputs), 1, 0):
        try:
            return from_onnx(frozen(model, inputs, first), opset=opset)
        except FrontendError:
            if first == 0 or not inputs:
                raise
    raise AssertionError


def operators_of(module: IRModule) -> set[str]:
    """Return the names of the operators that a module calls."""
    nodes = [
        node
        for fn in module.functions.values()
        for node in post_order(cast("Expr", fn))
    ]
    return {node.name for node in nodes if isinstance(node, Op)}
