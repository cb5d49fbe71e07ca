"""Row `rebuild`: ResNet-50 built again, as it was and with one layer of another shape.

The frontend is told apart: what is measured begins with the network in Relay, which was
just read, on each side. Results of earlier builds are read from the disk, as by another
process. Each round edits another layer, so that nothing of it is known.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import parpass
from bench.measure import Setting, clocked, interleaved, median, ratio
from bench.table import Goal, Line, Row
from parpass import FunctionCache, IRModule, PassContext, relay

if TYPE_CHECKING:
    import onnx

Network = tuple[IRModule, dict[str, Any]]

_NAME = "resnet50"
_BLOCK = 16  # channels that convolutions have in a vector
# Of each stage of the network the convolution that begins its second block.
_CONVOLUTIONS = (5, 15, 28, 47)


def _rebuild(setting: Setting) -> Iterator[Line]:
    # Here, because loading onnx takes long and the other rows do without it.
    from examples.real_networks import load

    model = load(_NAME)
    # Each side has its own, of the same layers, as it has its own store.
    edits, for_kernels = edited_networks(model), edited_networks(model)
    parts: dict[str, list[float]] = {"passes": [], "kernels": []}
    with (
        tempfile.TemporaryDirectory() as kept,
        tempfile.TemporaryDirectory() as folder,
        PassContext(opt_level=3),
    ):
        os.environ["PARPASS_CACHE_DIR"] = kept  # this process is the row's own
        cache = FunctionCache(folder)
        with (
            parpass.open_runner(workers=setting.workers, cache=cache) as cached,
            parpass.open_runner(workers=setting.workers) as plain,
        ):

            def read() -> Network:
                return relay.frontend.from_onnx(model)

            def build(given: Network, **how: Any) -> float:
                mod, params = given
                return clocked(lambda: relay.build(mod, params=params, **how))()

            def by_cache(given: Network, **how: Any) -> float:
                cache.clear()  # of what is in memory
                return build(given, runner=cached, cache=False, **how)

            def first() -> float:
                assert cache.store is not None
                cache.store.clear()
                return by_cache(read())

            def edited() -> float:
                reports: list[Any] = []
                took = by_cache(next(edits), report=reports.append)
                for part, report in zip(parts.values(), reports, strict=True):
                    part.append(report.seconds)
                return took

            sides = {
                "no cache": lambda: build(read(), runner=plain, cache=False),
                "first": first,
                "again": lambda: by_cache(read()),
                "edited": edited,
                "kernels kept": lambda: build(next(for_kernels), runner=plain),
                "frontend": clocked(read),
            }
            build(read(), runner=plain)  # which keeps its kernels
            interleaved(sides, 1)  # not counted: what is loaded once
            parts = {name: [] for name in parts}
            times = interleaved(sides, max(3, setting.fewer))
    what = f"{_NAME} to a library"
    yield Line(
        what,
        "first build, with an empty cache : build without one",
        ratio(times, "first", "no cache"),
        Goal(1.05),
        times=times,
    )
    yield Line(what, "nothing changed : first build", ratio(times, "again", "first"))
    shares = (f"{name} {median(part).value:.2f} s" for name, part in parts.items())
    yield Line(
        what,
        "one layer of another shape : first build",
        ratio(times, "edited", "first"),
        Goal(0.25),
        note=f"{', '.join(shares)}; first {median(times['first']).value:.2f} s",
    )
    against = "one layer of another shape, kernels alone kept : first build"
    yield Line(what, against, ratio(times, "kernels kept", "no cache"))
    yield Line(
        what, "the ONNX frontend : first build", ratio(times, "frontend", "first")
    )


def edited_networks(model: onnx.ModelProto) -> Iterator[Network]:
    """Yield ResNet-50 with fewer channels in one layer, each time another one."""
    for part in itertools.count(1):
        for at in _CONVOLUTIONS:
            edited = narrowed(model, at, part * _BLOCK)
            if edited is not None:
                yield relay.frontend.from_onnx(edited)


def narrowed(model: onnx.ModelProto, at: int, channels: int) -> onnx.ModelProto | None:
    """Return a model whose convolution has so many channels fewer.

    What follows up to the next convolution, which takes them, is made to fit.

    Args:
        model: The model.
        at: The index of the convolution.
        channels: How many channels are taken away.

    Returns:
        The model; None if the convolution has no more than that.
    """
    import numpy as np
    from onnx import numpy_helper

    new = type(model).FromString(model.SerializeToString())
    graph = new.graph
    weights = {one.name: one for one in graph.initializer}
    inputs = {one.name: one for one in graph.input}
    readers = {name: node for node in graph.node for name in node.input}
    node = [one for one in graph.node if one.op_type == "Conv"][at]
    width = weights[node.input[1]].dims[0] - channels
    if width <= 0:
        return None

    def cut(name: str, axis: int) -> None:
        values = numpy_helper.to_array(weights[name])
        values = np.ascontiguousarray(np.take(values, range(width), axis))
        weights[name].CopyFrom(numpy_helper.from_array(values, name))
        if name in inputs:
            shape = inputs[name].type.tensor_type.shape
            shape.dim[axis].dim_value = width

    for name in node.input[1:]:
        cut(name, 0)
    node = readers[node.output[0]]
    while node.op_type != "Conv":
        for name in node.input[1:]:
            cut(name, 0)
        node = readers[node.output[0]]
    cut(node.input[1], 1)
    return new


ROWS = (Row("rebuild", _rebuild),)
