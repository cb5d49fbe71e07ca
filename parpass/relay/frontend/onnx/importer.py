"""`from_onnx`: one module of one or many ONNX models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import onnx

from parpass.errors import FrontendError, UnsupportedOpsError, did_you_mean
from parpass.ir.module import IRModule
from parpass.ir.ty import Dim
from parpass.relay.frontend.onnx.graph import GraphImporter
from parpass.relay.frontend.onnx.model import (
    Model,
    ModelOrPath,
    malformed_if_undecodable,
    open_model,
)
from parpass.relay.frontend.onnx.parameter import ParameterTypes
from parpass.relay.frontend.onnx.support import unsupported

Models = ModelOrPath | Sequence[ModelOrPath] | Mapping[str, ModelOrPath]


def from_onnx(
    model: Models,
    shape: Mapping[str, Sequence[Dim]] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
) -> IRModule:
    """Import ONNX models, weights included, as functions of one module.

    A graph's inputs become parameters in their order, save those that have an
    initializer: they are constants. A function returns the one output of its graph,
    or a tuple of them. Each expression's span leads to the node that it comes from.

    Args:
        model: A model or the path of one, which becomes `main`; or several: a sequence
            gives functions named after the files or graphs, a mapping after its keys.
        shape: Shapes of inputs by name, for those whose shape the model leaves open;
            they win over the model's. A dimension that stays open is `relay.Any()`, and
            may be given so: the function takes every length, but some operators need
            to know it.
        dtype: The dtype, or dtypes by name, of inputs whose dtype the model leaves
            open.
        opset: The version of ONNX's operators, where the model is wrong about it.

    Raises:
        OSError: A file cannot be read.
        MalformedModelError: A file is truncated or not ONNX, or its graph is
            inconsistent.
        UnsupportedOpsError: The models use operators that parpass does not know; all
            of them are listed, before anything is converted.
        FrontendError: A known operator is used in a way that is not supported, needs
            a dimension that is unknown, or is of a version that the installed onnx
            does not know; or values of tensors are kept in a file that is not there.
    """
    types = ParameterTypes(shape or {}, dtype)
    models = {
        name: open_model(given, _source_of(given, name), opset)
        for name, given in _named(model).items()
    }
    _check_supported(models.values())
    _check_inputs_exist(types.shapes, models.values())
    module = IRModule()
    for name, opened in models.items():
        with malformed_if_undecodable(opened.source):
            importer = GraphImporter(opened, types)
            module[name] = importer.function()
            module.sources[opened.source] = importer.listing()
    return module


def _named(model: Models) -> dict[str, ModelOrPath]:
    """Return the models by the names of their functions."""
    if isinstance(model, Mapping):
        given = [(name, one) for name, one in model.items()]
    elif isinstance(model, Sequence) and not isinstance(model, str):
        given = [(_own_name(one), one) for one in model]
        if len(given) == 1:
            given = [("main", given[0][1])]
    else:
        given = [("main", model)]
    named: dict[str, ModelOrPath] = {}
    for wanted, one in given:
        name = clean = _clean(wanted)
        tries = 0
        while name in named:
            tries += 1
            name = f"{clean}_{tries}"
        named[name] = one
    return named


def _own_name(model: ModelOrPath) -> str:
    return model.graph.name if isinstance(model, onnx.ModelProto) else Path(model).stem


def _clean(name: str) -> str:
    """Return a name as Relay's text can have it."""
    clean = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "model"
    return f"_{clean}" if clean[0].isdigit() else clean


def _source_of(model: ModelOrPath, name: str) -> str:
    return name if isinstance(model, onnx.ModelProto) else str(model)


def _check_supported(models: Iterable[Model]) -> None:
    counts: Counter[str] = Counter()
    sources: list[str] = []
    for model in models:
        with malformed_if_undecodable(model.source):
            nodes = model.proto.graph.node
            unknown = unsupported(nodes, model.functions, model.opsets)
        if unknown:
            counts.update(unknown)
            sources.append(model.source)
    if counts:
        raise UnsupportedOpsError(dict(counts), source=", ".join(sources))


def _check_inputs_exist(names: Iterable[str], models: Iterable[Model]) -> None:
    known = {entry.name: None for one in models for entry in one.proto.graph.input}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise FrontendError(
                f"shape= names '{name}', but no model has such an input{hint}",
                source=name,
            )
