"""Models of one node that is used wrongly, made of ONNX's own cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from parpass.relay.frontend.onnx.operators import CONVERTERS
from tests.relay.frontend.onnx.unsupported import UNSUPPORTED
from tests.support.onnx.cases import cases, data_of, model_of

_REFUSED = {name for names in UNSUPPORTED.values() for name in names.split()}
_DTYPES = ("float32", "float16", "int64", "int8", "bool")
Inputs = list[np.ndarray[Any, Any] | None]


def case_of_each_operator() -> dict[str, str]:
    """Return the name of a case that works, for each operator that has a converter."""
    # These work where their inputs are constants.
    found = {"Loop": "test_loop11", "STFT": "test_stft_with_window"}
    for name, case in cases("node").items():
        nodes = model_of(case).graph.node
        if len(nodes) == 1 and name not in _REFUSED:
            found.setdefault(nodes[0].op_type, name)
    return {op: name for op, name in found.items() if op in CONVERTERS}


def misused(name: str) -> Iterator[tuple[str, onnx.ModelProto]]:
    """Yield what is wrong, and the model of a case in which it is."""
    case = cases("node")[name]
    (arrays, _), *_ = data_of(case)
    proto = model_of(case)
    (node,) = proto.graph.node
    names = [one.name for one in proto.graph.input]
    values = dict(zip(names, map(np.asarray, arrays), strict=True))
    given: Inputs = [values.get(one) for one in node.input]
    for what, inputs in _changed(given):
        for known in (False, True):
            yield (
                f"{what}, {'known' if known else 'unknown'}",
                _model(proto, node, inputs, range(1 - known, len(inputs)), known=known),
            )
    yield "open dimensions", _model(proto, node, given, (), is_open=True)
    for what, other in _with_other_attributes(node):
        yield what, _model(proto, other, given, range(1, len(given)))


def _changed(given: Inputs) -> Iterator[tuple[str, Inputs]]:
    for at, one in enumerate(given):
        if one is None:
            continue

        def put(value: np.ndarray[Any, Any] | None, at: int = at) -> Inputs:
            return [*given[:at], value, *given[at + 1 :]]

        yield f"input {at + 1} left out", put(None)
        yield f"input {at + 1} of one more dimension", put(one[None])
        yield f"input {at + 1} of two more dimensions", put(one[None, None])
        if one.size:
            yield f"input {at + 1} a scalar", put(one.reshape(-1)[0])
            yield f"input {at + 1} a vector", put(one.reshape(-1))
            yield f"input {at + 1} empty", put(one.reshape(-1)[:0])
            yield f"input {at + 1} twice as long", put(np.repeat(one.reshape(-1), 2))
        if one.ndim > 1 and one.size:
            yield f"input {at + 1} of one dimension less", put(one[0])
            yield f"input {at + 1} without elements", put(one[:0])
            yield f"input {at + 1} of other lengths", put(np.repeat(one, 2, axis=-1))
        for dtype in _DTYPES:
            if one.dtype.name != dtype and one.dtype.kind in "biuf":
                with np.errstate(all="ignore"):
                    other = one.astype(dtype)
                yield f"input {at + 1} of {dtype}", put(other)
    yield "no inputs", []
    yield "one input more", [*given, np.ones(2, "float32")]


def _with_other_attributes(
    node: onnx.NodeProto,
) -> Iterator[tuple[str, onnx.NodeProto]]:
    for at, attribute in enumerate(node.attribute):
        for what, other in _other(attribute):
            changed = onnx.NodeProto()
            changed.CopyFrom(node)
            del changed.attribute[at]
            if other is not None:
                changed.attribute.append(helper.make_attribute(attribute.name, other))
            yield f"attribute {attribute.name} {what}", changed


def _other(attribute: AttributeProto) -> Iterator[tuple[str, Any]]:
    yield "left out", None
    yield "a text", "nonsense"
    yield "a negative number", -3
    yield "a large number", 2**40
    yield "a fraction", 0.5
    yield "several numbers", [1, 2, 3, 4, 5, 6, 7]
    if attribute.type == AttributeProto.INTS:
        yield "zeros", [0] * len(attribute.ints)
        yield "negative numbers", [-7] * len(attribute.ints)


def _model(
    proto: onnx.ModelProto,
    node: onnx.NodeProto,
    inputs: Inputs,
    constants: Iterable[int],
    *,
    known: bool = True,
    is_open: bool = False,
) -> onnx.ModelProto:
    """Return a model of a node; some inputs are initializers if they are known."""
    used = onnx.NodeProto()
    used.CopyFrom(node)
    names = [f"x{at}" if one is not None else "" for at, one in enumerate(inputs)]
    del used.input[:]
    used.input.extend(names)
    weights = {names[at] for at in constants if known}
    pairs = [
        (name, one) for name, one in zip(names, inputs, strict=True) if one is not None
    ]
    graph = helper.make_graph(
        [used],
        "misuse",
        [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(one.dtype),
                [None] * one.ndim if is_open else one.shape,
            )
            for name, one in pairs
            if name not in weights
        ],
        [helper.make_empty_tensor_value_info(one) for one in used.output if one],
        [numpy_helper.from_array(one, name) for name, one in pairs if name in weights],
    )
    return helper.make_model(
        graph, opset_imports=proto.opset_import, ir_version=proto.ir_version
    )
