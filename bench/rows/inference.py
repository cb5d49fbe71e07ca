"""Row `inference`: real networks run by their machine code, on one thread."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import parpass
from bench.measure import Figure, Setting, clocked, interleaved, ratio
from bench.peers import onnxruntime
from bench.table import Goal, Line, Row
from parpass import PassContext, relay
from parpass.runtime.graph_executor import GraphModule
from parpass.runtime.ndarray import cpu

_OURS, _THEIRS = "parpass", onnxruntime.NAME
_AGAINST = f"a run : {_THEIRS}'s, one thread"
_FIRST = "resnet50"  # what is measured of a part of the work
_TOLERANCE = 1e-4  # of the largest element,
_LEAST = 1e-4  # or of this, if it is less: what is next to nothing is rounding
_NEAR, _OF_NEAR = 1.5, 6  # so many networks are to be within that
_FARTHEST = 2.5

# CPU seconds that others take to compile ResNet-50, measured once on the machine that
# the goals were set on: TVM 0.27's wheel, and a fifth of IREE 3.13's.
_TVM, _FIFTH_OF_IREE = 6.2, 37.5 / 5


class Ready(NamedTuple):
    """A network that was built, and has its inputs.

    Attributes:
        module: What runs it.
        kernels: How many kernels it has.
        compiling: The CPU seconds that building it took.
    """

    module: GraphModule
    kernels: int
    compiling: float


def _inference(setting: Setting) -> Iterator[Line]:
    # Here, because loading onnx takes long and the other rows do without it.
    from examples.real_networks import example_input, load, network_paths

    names = sorted(network_paths(), key=lambda name: (name != _FIRST, name))
    factors: list[float] = []
    for name in names[: setting.scaled(len(names))]:
        model = load(name)
        given = example_input(model)
        ours = built(model, given)
        line = compared(name, model, given, ours, setting)
        if line.figure is not None:
            factors.append(line.figure.value)
        yield line
        if name == _FIRST:
            yield from _compiling(name, ours)
    if len(factors) >= _OF_NEAR:
        yield from _all_together(sorted(factors))


def built(model: Any, given: Mapping[str, Any]) -> Ready:
    """Build a network, and run it once."""
    mod, params = relay.frontend.from_onnx(model)
    began = time.process_time()
    with PassContext(opt_level=3):
        lib = relay.build(mod, params=params, workers=0, cache=False)
    compiling = time.process_time() - began
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "net.so")
        lib.export_library(path)
        ours = GraphModule(parpass.runtime.load_module(path)["default"](cpu()))
    for key, value in given.items():
        ours.set_input(key, value)
    ours.run()
    return Ready(ours, len(lib.module.manifest.functions), compiling)


def compared(
    name: str,
    model: Any,
    given: Mapping[str, Any],
    ours: Ready,
    setting: Setting,
    goal: float = _FARTHEST,
    tolerance: float = _TOLERANCE,
) -> Line:
    """Return a network's line; that it computes something else is an error."""
    theirs = onnxruntime.prepared(model.SerializeToString(), given)
    if isinstance(theirs, str):
        return Line(name, _AGAINST, None, note=theirs)
    run, expected = theirs
    sides = {_OURS: clocked(ours.module.run), _THEIRS: clocked(run)}
    times = interleaved(sides, 2 * setting.repeat + 1, collect=False)
    found = ours.module.get_output(0).numpy()
    apart = np.abs(np.subtract(found, expected, dtype="float64"))
    apart = np.where(np.isnan(found) & np.isnan(expected), 0, apart)
    finite = np.asarray(expected)[np.isfinite(expected)]
    far = float(apart.max() / np.abs(finite).max(initial=_LEAST))
    note = f"{1e3 * min(times[_OURS]):.2f} ms, outputs {far:.0e} apart"
    return Line(
        *(name, _AGAINST, ratio(times, _OURS, _THEIRS), Goal(goal), note, times),
        is_error=not far <= tolerance,
    )


def _compiling(name: str, network: Ready) -> Iterator[Line]:
    figure = Figure(network.compiling, unit="s")
    note = f"{network.kernels} kernels, one process"
    for peer, goal in (
        ("the time of TVM's wheel", _TVM),
        ("a fifth of the time of IREE", _FIFTH_OF_IREE),
    ):
        against = f"CPU time to build it; the goal is {peer}, measured before"
        yield Line(name, against, figure, Goal(goal), note)


def _all_together(factors: list[float]) -> Iterator[Line]:
    what = f"{len(factors)} real networks"
    figures = {
        f"the {_OF_NEAR}th best of these": (factors[_OF_NEAR - 1], _NEAR),
        "the worst of these": (factors[-1], _FARTHEST),
    }
    for compares, (value, goal) in figures.items():
        yield Line(what, f"{_AGAINST}: {compares}", Figure(value), Goal(goal))


ROWS = (Row("inference", _inference),)
