"""`from_onnx`: one module of one or many ONNX models, and their weights."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy.typing as npt
import onnx

from parpass.errors import FrontendError, UnsupportedOpsError
from parpass.ir.module import IRModule
from parpass.ir.types import Dim
from parpass.relay.frontend.onnx.body import unsupported
from parpass.relay.frontend.onnx.graph import GraphImporter
from parpass.relay.frontend.onnx.model import (
    Model,
    ModelOrPath,
    malformed_if_undecodable,
    open_model,
)
from parpass.relay.frontend.onnx.parameters import (
    InputSettings,
    with_weights_as_parameters,
)
from parpass.runtime.ndarray import NDArray

Models = ModelOrPath | Sequence[ModelOrPath] | Mapping[str, ModelOrPath]


def from_onnx(
    model: Models,
    shape: Mapping[str, Sequence[Dim]] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    freeze_params: bool = False,
    *,
    dim: Mapping[str, int] | None = None,
    const: Mapping[str, npt.ArrayLike] | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Import ONNX models as functions of one module, and their weights: `mod, params`.

    A graph's inputs become parameters in their order, except those with an initializer,
    which are weights. Weights become further parameters under their names in the model,
    with their values in `params`, as in TVM; or constants in the function, which passes
    may fold. In both cases the importer uses the known values, so that a weight that
    gives a shape, for example, becomes part of attributes. Weights of graphs inside
    nodes are always constants. The importer computes other constants within the limit
    of `FoldConstant`.

    A function returns the single output of its graph, or a tuple of the outputs. The
    span of each expression refers to its node. It names the model's file without the
    folder, unless two files have the same name. So the functions of a model are the
    same, also to a cache, in each folder.

    Args:
        model: A model or the path of one, which becomes `main`. Or several models:
            functions are named after the files or graphs of a sequence, or after the
            keys of a mapping.
        shape: Shapes of inputs by name, for shapes that the model leaves open; they
            override the model's. You may leave a dimension open as `relay.Any()`: the
            function then takes every length, but some operators need to know it.
        dtype: The dtype, or dtypes by name, of inputs whose dtype the model leaves
            open.
        opset: The version of ONNX's operators, if the model states a wrong one.
        freeze_params: Whether weights become constants; `params` is then empty.
        dim: Lengths of open dimensions by their names in the models, wherever they
            occur; `*` is for all other open dimensions.
        const: Values of inputs by name. Such an input is not a parameter: its value is
            part of the function, and decides, for example, which branch of an `If` is
            imported.

    Returns:
        The module, and the weights by the names of their parameters. With several
            models these begin with the function's name: `net.conv1.weight`.

    Raises:
        OSError: A file cannot be read.
        MalformedModelError: A file is truncated or not ONNX, or its graph is
            inconsistent.
        UnsupportedOpsError: The models use operators that parpass does not know. All of
            them are listed before anything is converted; those in a branch of an `If`
            only when it is imported.
        FrontendError: An argument is not a model, a shape or a dtype. Or a known
            operator is used in an unsupported way, needs an unknown dimension, or has a
            version that the installed onnx does not know. Or the file with the values
            of a tensor is missing.
    """
    settings = InputSettings(
        {} if shape is None else shape,
        dtype,
        {} if dim is None else dim,
        {} if const is None else const,
    )
    return import_models(model, settings, opset, freeze_params=freeze_params)


def import_models(
    model: Models,
    settings: InputSettings,
    opset: int | None = None,
    *,
    freeze_params: bool = False,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Import ONNX models with all that may be said about their inputs.

    See `from_onnx` for the rest.
    """
    by_name = _named(model)
    span_names = _span_names(by_name)
    models = {
        name: open_model(given, _source_of(given, name), span_names[name], opset)
        for name, given in by_name.items()
    }
    _check_supported(models.values())
    settings.check_names(models.values())
    for opened in models.values():
        settings.check_shapes(opened)
    module = IRModule()
    params: dict[str, NDArray] = {}
    for name, opened in models.items():
        with malformed_if_undecodable(opened.source):
            importer = GraphImporter(opened, settings)
            function, weights = importer.function()
            module.sources[opened.span_name] = importer.listing()
        if not freeze_params:
            place = f"{name}." if len(models) > 1 else ""
            named = {f"{place}{weight}": value for weight, value in weights.items()}
            function, values = with_weights_as_parameters(function, named)
            params |= values
        module[name] = function
    return module, params


def _named(model: Models) -> dict[str, ModelOrPath]:
    """Return the models by the names of their functions."""
    if isinstance(model, Mapping):
        given = [(name, _model(one)) for name, one in model.items()]
    elif isinstance(model, Sequence) and not isinstance(model, str | bytes):
        given = [(_own_name(_model(one)), one) for one in model]
        if len(given) == 1:
            given = [("main", given[0][1])]
    else:
        given = [("main", _model(model))]
    named: dict[str, ModelOrPath] = {}
    for wanted, one in given:
        name = clean = _clean(wanted)
        tries = 0
        while name in named:
            tries += 1
            name = f"{clean}_{tries}"
        named[name] = one
    return named


def _model(given: object) -> ModelOrPath:
    if isinstance(given, onnx.ModelProto | str | os.PathLike):
        return cast("ModelOrPath", given)
    hint = ""
    if isinstance(given, bytes):
        hint = "; try onnx.load_model_from_string"
    elif isinstance(given, onnx.GraphProto):
        hint = "; try the model that the graph is from"
    raise FrontendError(
        "expected an onnx.ModelProto or the path of one, or several in a sequence or a "
        f"mapping, got {type(given).__name__}{hint}",
        source="model",
    )


def _own_name(model: ModelOrPath) -> str:
    return model.graph.name if isinstance(model, onnx.ModelProto) else Path(model).stem


def _clean(name: str) -> str:
    """Return a name as Relay's text can have it."""
    clean = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "model"
    return f"_{clean}" if clean[0].isdigit() else clean


def _source_of(model: ModelOrPath, name: str) -> str:
    return name if isinstance(model, onnx.ModelProto) else str(model)


def _span_names(models: Mapping[str, ModelOrPath]) -> dict[str, str]:
    """Return what spans call the models, by the names of their functions."""
    sources = {name: _source_of(model, name) for name, model in models.items()}
    files = {
        name: source if isinstance(models[name], onnx.ModelProto) else Path(source).name
        for name, source in sources.items()
    }
    counts = Counter(files.values())
    return {n: one if counts[one] == 1 else sources[n] for n, one in files.items()}


def _check_supported(models: Iterable[Model]) -> None:
    """Refuse operators that are not supported, save those that may be left out."""
    counts: Counter[str] = Counter()
    sources: list[str] = []
    for model in models:
        with malformed_if_undecodable(model.source):
            given = model.proto.graph.node, model.functions, model.opsets
            unknown = unsupported(*given, branches=False) and unsupported(*given)
        if unknown:
            counts.update(unknown)
            sources.append(model.source)
    if counts:
        raise UnsupportedOpsError(dict(counts), source=", ".join(sources))
