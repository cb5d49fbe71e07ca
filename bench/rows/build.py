"""Row `build`: a network to a library of machine code, once and again, and loading."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parpass
from bench.limit import Limit
from bench.measure import Setting, clocked, interleaved, median, ratio
from bench.table import Goal, Line, Row
from bench.work import USE_WORKERS
from parpass import IRModule, PassContext, Sequential, relay
from parpass.object_store import ObjectStore
from parpass.relay.backend.lowering.lower_to_tir import LowerToTIR
from parpass.relay.build_module import network_pipeline
from parpass.runner import Runner
from parpass.runtime.graph_executor import GraphModule
from parpass.runtime.ndarray import cpu
from parpass.target import Target, lowering

_CHANNELS, _SIDE = 32, 8
_TARGET = Target("llvm")


@dataclass(frozen=True)
class Convolutions:
    """Networks of convolutions on images of different sizes, none behind another.

    Attributes:
        count: How many there are, each a kernel of its own.
    """

    count: int

    def network(self, part: int = 0, parts: int = 1) -> IRModule:
        """Return a share of them as a network."""
        sides = range(_SIDE, _SIDE + self.count)[part::parts]
        weight = relay.var("w", shape=(_CHANNELS, _CHANNELS, 3, 3))
        images = [
            relay.var(f"x{side}", shape=(1, _CHANNELS, side, side)) for side in sides
        ]
        results = [relay.nn.relu(relay.nn.conv2d(x, weight)) for x in images]
        function = relay.Function([*images, weight], relay.Tuple(results))
        return relay.transform.InferType()(IRModule.from_expr(function))

    def __call__(
        self, part: int, parts: int
    ) -> tuple[IRModule, Callable[[IRModule], Any]]:
        """Return a process's share, and what builds it, for `Limit`."""
        return self.network(part, parts), _built_here


@dataclass(frozen=True)
class Kernels(Convolutions):
    """The kernels of such networks: what the workers of a build lower and compile."""

    def fused(self, part: int = 0, parts: int = 1) -> IRModule:
        """Return a share of them."""
        with PassContext(opt_level=3), _TARGET:
            mod = network_pipeline()(self.network(part, parts))
        found = mod.functions_by_name.items()
        return IRModule({name: one for name, one in found if name != "main"})

    def __call__(
        self, part: int, parts: int
    ) -> tuple[IRModule, Callable[[IRModule], Any]]:
        """Return a process's share, and what compiles it, for `Limit`."""
        return self.fused(part, parts), _compiled_here


def _to_machine_code() -> Sequential:
    return Sequential([LowerToTIR(_TARGET), lowering(_TARGET)])


def _compiled_here(mod: IRModule) -> Any:
    with PassContext(opt_level=3):
        return _to_machine_code()(mod)


def _built_here(mod: IRModule) -> Any:
    with PassContext(opt_level=3):
        return relay.build(mod, workers=0, cache=False)


def _build(setting: Setting) -> Iterator[Line]:
    work = Convolutions(setting.scaled(100, setting.workers))
    what = f"a network of {work.count:,} convolutions, to a library"
    mod = work.network()
    with (
        PassContext(opt_level=3, config=USE_WORKERS),
        parpass.open_runner(workers=setting.workers) as runner,
        tempfile.TemporaryDirectory() as folder,
    ):
        os.environ["PARPASS_CACHE_DIR"] = folder  # this process is the row's own

        def first() -> Any:
            ObjectStore().clear()
            return relay.build(mod, runner=runner)

        relay.build(mod, runner=runner, cache=False)
        with Limit(work, setting.workers) as limit:
            sides = {
                "serial": clocked(lambda: _built_here(mod)),
                "first": clocked(first),
                "limit": limit.seconds,
            }
            times = interleaved(sides, setting.fewer)
        path = Path(folder, "net.so")
        first().export_library(path)
        again = {
            "second": clocked(lambda: relay.build(mod, runner=runner)),
            "load": clocked(lambda: _loaded(path)),
        }
        times |= interleaved(again, setting.repeat)
        yield _compiling(setting, runner)
    yield Line(what, "serial : parallel", ratio(times, "serial", "first"), times=times)
    against = "parallel : independent processes that link nothing together"
    yield Line(what, against, ratio(times, "first", "limit"))
    figure = ratio(times, "second", "first")
    yield Line(what, "from what an earlier build kept : first", figure, Goal(0.15))
    took = median(times["load"]).times(1e3, "ms")
    yield Line(what, "loading it", took, Goal(50))


def _compiling(setting: Setting, runner: Runner) -> Line:
    """Return how far the workers' part of a build is from what the cores can do."""
    work = Kernels(setting.scaled(100, setting.workers))
    kernels, passes = work.fused(), _to_machine_code()
    runner.run_sync(kernels, passes)
    with Limit(work, setting.workers) as limit:
        sides = {
            "kernels": clocked(lambda: runner.run_sync(kernels, passes)),
            "limit": limit.seconds,
        }
        times = interleaved(sides, setting.repeat)
    what = f"{len(kernels):,} kernels of convolutions, to machine code"
    against = "parallel run : independent processes that send nothing back"
    figure = ratio(times, "kernels", "limit")
    return Line(what, against, figure, Goal(1.06), times=times)


def _loaded(path: Path) -> GraphModule:
    return GraphModule(parpass.runtime.load_module(path)["default"](cpu()))


@dataclass(frozen=True)
class _Networks:
    """Real networks with their weights, as many as are asked for."""

    count: int

    def modules(self) -> dict[str, tuple[IRModule, dict[str, Any]]]:
        """Return all of them by name."""
        # Here, because loading onnx takes long and the other rows do without it.
        from examples.real_networks import load, network_paths

        names = list(network_paths())[: self.count]
        return {name: relay.frontend.from_onnx(load(name)) for name in names}

    def __call__(self, part: int, parts: int) -> tuple[Any, Callable[[Any], Any]]:
        """Return all of them for each process, and what builds them, for `Limit`."""
        return self.modules(), _all_built_here


def _all_built_here(networks: Mapping[str, tuple[IRModule, dict[str, Any]]]) -> None:
    for mod, params in networks.values():
        with PassContext(opt_level=3):
            relay.build(mod, "llvm", params=params, workers=0, cache=False)


def _nine(setting: Setting) -> Iterator[Line]:
    work = _Networks(setting.scaled(9))
    networks, workers = work.modules(), setting.workers
    with parpass.open_runner(workers=workers) as runner:

        def parallel() -> None:
            with PassContext(opt_level=3):
                relay.build_all(networks, "llvm", runner=runner, cache=False)

        parallel()
        with Limit(work, workers) as limit:
            sides = {
                "serial": clocked(lambda: _all_built_here(networks)),
                "parallel": clocked(parallel),
                "limit": limit.seconds,  # each builds all, so workers times the work
            }
            times = interleaved(sides, setting.fewer)
    what = f"{work.count} real networks to libraries, {workers} workers"
    speed = ratio(times, "serial", "parallel")
    most = ratio(times, "serial", "limit").times(workers, "x")
    yield Line(
        what,
        "speed-up : that of independent processes",
        ratio(times, "limit", "parallel").times(1 / workers, "x"),
        Goal(at_least=0.95),
        note=f"{speed.value:.2f} x : {most.value:.2f} x",
        times=times,
    )


ROWS = (Row("build", _build), Row("nine", _nine))
