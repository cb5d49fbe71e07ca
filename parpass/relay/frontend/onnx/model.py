"""Reads ONNX models and says what is wrong with those that are none."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx.external_data_helper import (
    load_external_data_for_model,
    uses_external_data,
)

from parpass.errors import FrontendError, Hint, HintedMessage, MalformedModelError
from parpass.relay.frontend.onnx.tensor_proto import shape_fault

ModelOrPath = onnx.ModelProto | str | os.PathLike[str]

_OLDEST_OPSET = 7  # since then operators broadcast as numpy does, and do not train
_OPEN = -1  # as some exporters write a dimension that is not known
_MOST_ELEMENTS = 2**63 - 1
_DEFAULT_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class Model:
    """One model to import.

    Attributes:
        source: The name for errors: the path, or the function's name.
        span_name: The name for spans.
        proto: The model itself.
        opsets: The versions of the operators that its nodes are written in, by domain.
        functions: The model's own operators, by their names with the domain.
    """

    source: str
    span_name: str
    proto: onnx.ModelProto
    opsets: Mapping[str, int]
    functions: Mapping[str, onnx.FunctionProto]


@contextlib.contextmanager
def malformed_if_undecodable(source: str) -> Generator[None]:
    """Turn protobuf's errors into `MalformedModelError`.

    Text that is not UTF-8 is found only when it is read, or appears as bytes.
    """
    try:
        yield
    except (DecodeError, UnicodeDecodeError) as error:
        raise MalformedModelError(
            f"{source}: expected an ONNX model; the file is truncated or of another "
            f"format ({error})",
            source=source,
        ) from error


def open_model(
    given: ModelOrPath, source: str, span_name: str, opset: int | None
) -> Model:
    """Return the model of a file, or a model given as such, checked from outside.

    Args:
        given: A model or the path of one.
        source: The name for errors.
        span_name: The name for spans.
        opset: The operators' version where the model is wrong about it.

    Raises:
        OSError: The file cannot be read.
        MalformedModelError: It is truncated or of another format.
        FrontendError: Its operators are of too old or too new a version, or values of
            tensors are kept in files that are not there.
    """
    with malformed_if_undecodable(source):
        proto = given if isinstance(given, onnx.ModelProto) else _read(Path(given))
        _check_complete(proto, source)
        _check_text(proto.graph, source)
        _check_shapes(proto.graph, source)
        opsets = opsets_of(proto.opset_import)
        if opset:
            opsets[""] = opset
        functions = {operator_name(one): one for one in proto.functions}
        _check_versions(proto, opsets, source)
    return Model(source, span_name, proto, opsets, functions)


def model_in(content: bytes, source: str) -> onnx.ModelProto:
    """Return the model of which these are the bytes.

    Raises:
        MalformedModelError: They are truncated or of another format.
    """
    proto = onnx.ModelProto()
    with malformed_if_undecodable(source):
        proto.ParseFromString(content)
    return proto


def _read(path: Path) -> onnx.ModelProto:
    proto = model_in(path.read_bytes(), str(path))
    for tensor in filter(uses_external_data, proto.graph.initializer):
        outside = {one.key: one.value for one in tensor.external_data}
        place = path.parent / outside.get("location", "")
        if not place.exists():
            raise FrontendError(
                f"{path}: expected the values of tensor '{tensor.name}' in the file "
                f"'{place}', which does not exist; put it beside the model",
                source=str(path),
            )
    try:
        load_external_data_for_model(proto, str(path.parent))
    except (ValueError, onnx.checker.ValidationError) as error:
        raise MalformedModelError(
            f"{path}: the external tensors cannot be loaded ({error})",
            source=str(path),
        ) from error
    return proto


def _check_versions(
    proto: onnx.ModelProto, opsets: Mapping[str, int], source: str
) -> None:
    """Refuse versions of ONNX's operators that are not known, or too old."""
    nodes = [node for node in proto.graph.node if not domain_of(node)]
    if "" not in opsets:
        if nodes:
            raise MalformedModelError(
                HintedMessage(
                    f"{source}: the model uses ONNX's operators, but does not state "
                    "their version; ",
                    Hint.OPSET,
                ),
                source=source,
            )
        return
    version, newest = opsets[""], onnx.defs.onnx_opset_version()
    if version > newest:
        raise FrontendError(
            f"{source}: expected operators of versions up to {newest}, which the "
            f"installed onnx {onnx.__version__} knows, got version {version}; a newer "
            "onnx may know it, or onnx.version_converter may convert the model",
            source=source,
        )
    changed = sorted({node.op_type for node in nodes if _has_changed(node, version)})
    if version < _OLDEST_OPSET and changed:
        raise FrontendError(
            f"{source}: expected operators of version {_OLDEST_OPSET} and later, got "
            f"version {version} of {', '.join(changed)}; onnx.version_converter may "
            "convert the model",
            source=source,
        )


def _has_changed(node: onnx.NodeProto, version: int) -> bool:
    """Return whether an operator of an old version is not what it is now."""
    try:
        versions = {
            onnx.defs.get_schema(node.op_type, one).since_version
            for one in (version, _OLDEST_OPSET)
        }
    except onnx.defs.SchemaError:
        return True
    return len(versions) > 1


def _check_complete(proto: onnx.ModelProto, source: str) -> None:
    # A message that ends early between two fields is still well-formed protobuf.
    missing = [
        what
        for what, there in (
            ("IR version", proto.ir_version > 0),
            ("graph", proto.HasField("graph")),
            ("outputs", len(proto.graph.output) > 0),
            ("operator versions", len(proto.opset_import) > 0),
        )
        if not there
    ]
    if missing:
        raise MalformedModelError(
            f"{source}: expected an ONNX model; the file is empty, truncated or of "
            f"another format: it has no {', no '.join(missing)}",
            source=source,
        )


def _check_text(graph: onnx.GraphProto, source: str) -> None:
    # protobuf gives names that are no UTF-8 as bytes, whatever its annotations say.
    names: list[object] = [graph.name]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
    names += [one.name for one in (*graph.initializer, *graph.input, *graph.output)]
    broken = [name for name in names if not isinstance(name, str)]
    if broken:
        raise MalformedModelError(
            f"{source}: expected names of UTF-8 characters, got {broken[0]!r}",
            source=source,
        )


def _check_shapes(graph: onnx.GraphProto, source: str) -> None:
    """Refuse dimensions that no tensor has, wherever a graph names one."""
    waiting = [graph]
    while waiting:
        graph = waiting.pop()
        for tensor in graph.initializer:
            fault = shape_fault(tensor)
            if fault:
                raise MalformedModelError(
                    f"{source}: tensor '{tensor.name}' {fault}", source=source
                )
        for value in (*graph.input, *graph.output, *graph.value_info):
            _check_declared(value, source)
        _check_defaults(graph, source)
        for node in graph.node:
            waiting += graphs_of(node)


def _check_declared(value: onnx.ValueInfoProto, source: str) -> None:
    shape = value.type.tensor_type.shape
    dims = [dim.dim_value for dim in shape.dim if dim.HasField("dim_value")]
    if any(dim < _OPEN for dim in dims):
        raise MalformedModelError(
            f"{source}: value '{value.name}' has a dimension below {_OPEN}, which "
            f"stands for an open one: its shape is {dims}",
            source=source,
        )
    if math.prod(dim for dim in dims if dim != _OPEN) > _MOST_ELEMENTS:
        raise MalformedModelError(
            f"{source}: value '{value.name}' has more elements than memory has "
            f"addresses: its shape is {dims}",
            source=source,
        )


def _check_defaults(graph: onnx.GraphProto, source: str) -> None:
    """Refuse an input whose initializer is of another type than it says itself."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for value in graph.input:
        tensor, declared = tensors.get(value.name), value.type.tensor_type
        if tensor is None or not declared.elem_type:
            continue
        dims = [dim.dim_value for dim in declared.shape.dim]
        is_open = [not dim.HasField("dim_value") for dim in declared.shape.dim]
        fits = not declared.HasField("shape") or (
            len(dims) == len(tensor.dims)
            and all(
                wild or dim in (_OPEN, own)
                for wild, dim, own in zip(is_open, dims, tensor.dims, strict=True)
            )
        )
        if not fits or declared.elem_type != tensor.data_type:
            names = onnx.TensorProto.DataType.Name
            raise MalformedModelError(
                f"{source}: input '{value.name}' is declared as {dims} of "
                f"{names(declared.elem_type)}, but its initializer is {[*tensor.dims]} "
                f"of {names(tensor.data_type)}",
                source=source,
            )


def domain_of(node: onnx.NodeProto | onnx.FunctionProto) -> str:
    """Return the domain of a node's operator, empty for ONNX's own."""
    return "" if node.domain in _DEFAULT_DOMAINS else node.domain


def operator_name(node: onnx.NodeProto | onnx.FunctionProto) -> str:
    """Return the operator of a node, with its domain unless that is ONNX's own."""
    domain = domain_of(node)
    name = node.op_type if isinstance(node, onnx.NodeProto) else node.name
    return f"{domain}::{name}" if domain else name


def opsets_of(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Return the versions of the operators, by domain; ONNX's own is empty."""
    return {
        "" if entry.domain in _DEFAULT_DOMAINS else entry.domain: entry.version
        for entry in imports
    }


def graphs_of(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """Return the graphs among the attributes of a node."""
    found: list[onnx.GraphProto] = []
    for attribute in node.attribute:
        found += [attribute.g] if attribute.HasField("g") else []
        found += attribute.graphs
    return found
