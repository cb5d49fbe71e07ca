"""Reads ONNX models and says what is wrong with those that are none."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx.external_data_helper import load_external_data_for_model

from parpass.errors import FrontendError, MalformedModelError

ModelOrPath = onnx.ModelProto | str | os.PathLike[str]

_OLDEST_OPSET = 7  # since then operators broadcast as numpy does, and do not train
_DEFAULT_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class Model:
    """One model to import.

    Attributes:
        source: The name for errors and spans: the path, or the function's name.
        proto: The model itself.
        opset: The version of ONNX's own operators that its nodes are written in.
    """

    source: str
    proto: onnx.ModelProto
    opset: int


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


def open_model(given: ModelOrPath, source: str, opset: int | None) -> Model:
    """Return the model of a file, or a model given as such, checked from outside.

    Args:
        given: A model or the path of one.
        source: The name for errors and spans.
        opset: The operators' version where the model is wrong about it.

    Raises:
        OSError: The file cannot be read.
        MalformedModelError: It is truncated or of another format.
        FrontendError: Its operators are of too old a version.
    """
    with malformed_if_undecodable(source):
        proto = given if isinstance(given, onnx.ModelProto) else _read(Path(given))
        _check_complete(proto, source)
        _check_text(proto.graph, source)
        version = opset or _own_opset(proto, source)
    if 0 < version < _OLDEST_OPSET:
        raise FrontendError(
            f"{source}: expected operators of version {_OLDEST_OPSET} and later, got "
            f"version {version}; onnx.version_converter may convert the model",
            source=source,
        )
    return Model(source, proto, version)


def _read(path: Path) -> onnx.ModelProto:
    proto = onnx.ModelProto()
    proto.ParseFromString(path.read_bytes())
    try:
        load_external_data_for_model(proto, str(path.parent))
    except (ValueError, onnx.checker.ValidationError) as error:
        raise MalformedModelError(
            f"{path}: the tensors kept outside of the file cannot be loaded ({error})",
            source=str(path),
        ) from error
    return proto


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


def _own_opset(proto: onnx.ModelProto, source: str) -> int:
    versions = {entry.domain: entry.version for entry in proto.opset_import}
    for domain in _DEFAULT_DOMAINS:
        if domain in versions:
            return versions[domain]
    if any(node.domain in _DEFAULT_DOMAINS for node in proto.graph.node):
        raise MalformedModelError(
            f"{source}: the model uses ONNX's operators, but does not say of which "
            "version; give it as opset=",
            source=source,
        )
    return 0


def operator_name(node: onnx.NodeProto) -> str:
    """Return the operator of a node, with its domain unless that is ONNX's own."""
    if node.domain in _DEFAULT_DOMAINS:
        return node.op_type
    return f"{node.domain}::{node.op_type}"


def count_operators(nodes: Iterable[onnx.NodeProto]) -> Counter[str]:
    """Count the operators of a graph and of the graphs inside its nodes."""
    counts: Counter[str] = Counter()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        counts[operator_name(node)] += 1
        for attribute in node.attribute:
            waiting += attribute.g.node
            waiting += [inner for graph in attribute.graphs for inner in graph.node]
    return counts
