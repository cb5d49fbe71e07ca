"""Row `scale`: how many workers pay for which functions, beyond those of this machine.

Costs are measured, and fed to a simulation, which is held against runs at as many
workers as there are cores. A worker pays as long as all spend half of their time on
functions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bench.cluster_costs import (
    LARGE,
    SMALL,
    functions_of,
    measured_costs,
    measured_dask_costs,
)
from bench.cluster_simulation import Cluster, Costs, simulated
from bench.measure import Figure, Setting, clocked, interleaved, median
from bench.table import Line, Row
from bench.work import PAIRS, USE_WORKERS, Heavy, Nothing, Swap
from parpass import FunctionPass, IRModule, PassContext, open_runner
from parpass.runner import Runner
from parpass.runner.cores import usable_cores

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
MILLISECONDS = (0.1, 1.0, 10.0, 100.0, 1000.0)
_PAYING = (2, 4, 16, 64, 512)
_WORK = 2.0  # seconds for each worker
_FUNCTIONS = 100_000  # at most, which then are less work
_PAYS = 0.5  # of the workers' time
_TINY = 1e-5  # seconds of a function, which show what the coordinator can do
_COUNT = 4000  # functions of a run that a simulation is held against


@dataclass(frozen=True)
class _Kind:
    """Functions to simulate.

    Attributes:
        name: What they are called.
        cluster: Their size, what becomes of them, and the costs.
        most: How many there are at most.
    """

    name: str
    cluster: Cluster
    most: int

    def at(self, workers: int, seconds: float) -> Cluster:
        """Return what workers have to do, on functions of so many seconds."""
        enough = round(workers * _WORK / seconds)
        count = max(4 * workers, min(self.most, enough))
        return replace(self.cluster, workers=workers, functions=count, seconds=seconds)

    def efficiency(self, workers: int, seconds: float) -> float:
        """Return the share of the workers' time on functions."""
        return simulated(self.at(workers, seconds)).efficiency

    def least_paying(self, workers: int) -> float:
        """Return the seconds of a function from which on so many workers pay."""
        low, high = 1e-5, 10.0
        while high / low > 1.1:
            middle = math.sqrt(low * high)
            if self.efficiency(workers, middle) < _PAYS:
                low = middle
            else:
                high = middle
        return high


def _scale(setting: Setting) -> Iterator[Line]:
    sizes = {nodes: _bytes_of(nodes) for nodes in (SMALL, LARGE)}
    costs = measured_costs(setting)
    yield from _cost_lines("a worker by a pipe", costs)
    yield from _compared(setting, costs, sizes)
    transports = {"pipes": costs}
    try:
        transports["Dask"] = measured_dask_costs(setting, costs)
    except ModuleNotFoundError:
        yield Line("a worker of Dask's", "costs", None, note="not installed")
    else:
        yield from _dask_cost_lines(transports["Dask"])
    yield from _ceilings(setting)
    kinds = [
        _Kind(
            f"functions of {nodes} nodes, {'changed' if changed else 'unchanged'}, "
            f"by {name}",
            Cluster(0, 0, 0.0, one, sizes[nodes], changed, follows=name == "Dask"),
            min(_FUNCTIONS, setting.scaled(4 * _FUNCTIONS, 1000)),
        )
        for name, one in transports.items()
        for nodes, changed in ((SMALL, False), (LARGE, True))
    ]
    for kind in kinds:
        yield from _paying(kind)
    for kind in kinds:
        yield _curves(kind)


def _bytes_of(nodes: int) -> int:
    """Return the bytes of a typed function as the coordinator packs it, on average."""
    mod, count = functions_of(nodes, 20), 20
    with open_runner(workers=1) as runner, PassContext(config=USE_WORKERS):
        runner.run_sync(mod, Nothing())
        report = runner.last_report
        assert report is not None
        return report.bytes_sent // count


def _cost_lines(what: str, costs: Costs) -> Iterator[Line]:
    named = {
        "coordinator: a stage": (costs.stage, "us"),
        "coordinator: a function encoded and planned": (costs.pack, "us"),
        "coordinator: a kilobyte encoded": (1000 * costs.byte, "us"),
        "coordinator: an outcome": (costs.accept, "us"),
        "coordinator: a changed function received": (costs.unpack, "us"),
        "coordinator: a kilobyte received": (1000 * costs.back_byte, "us"),
        "coordinator: a job sent and answered": (costs.send, "us"),
        "worker: a stage": (costs.load, "us"),
        "worker: a job": (costs.job, "us"),
        "worker: a function": (costs.work, "us"),
        "worker: a kilobyte": (1000 * costs.work_byte, "us"),
        "a message, one way": (costs.way, "us"),
    }
    for name, (seconds, unit) in named.items():
        yield Line(what, name, Figure(1e6 * seconds, 0.0, unit))


def _dask_cost_lines(costs: Costs) -> Iterator[Line]:
    named = {
        "coordinator: a job sent and answered": costs.send,
        "Dask's scheduler: a job": costs.route,
        "a message, one way": costs.way,
    }
    for name, seconds in named.items():
        yield Line("a worker of Dask's", name, Figure(1e6 * seconds, 0.0, "us"))


def _compared(setting: Setting, costs: Costs, sizes: dict[int, int]) -> Iterator[Line]:
    """Yield how far the simulation is from runs, at one worker and at two."""
    count = setting.scaled(_COUNT, 100)
    works: Sequence[tuple[str, IRModule, FunctionPass, int]] = (
        ("no-op", functions_of(SMALL, count), Nothing(), SMALL),
        ("1 ms", functions_of(SMALL, count // 4), Heavy(0.001), SMALL),
        ("5 ms", functions_of(SMALL, count // 16), Heavy(0.005), SMALL),
        ("light", functions_of(LARGE, count // 32), Swap(PAIRS), LARGE),
    )
    for workers in (1, 2):
        with (
            open_runner(workers=workers) as runner,
            PassContext(config=USE_WORKERS),
        ):
            for name, mod, one, nodes in works:
                runner.run_sync(mod, one)
                run = clocked(lambda: runner.run_sync(mod, one))  # noqa: B023
                times = interleaved({"run": run}, setting.repeat)
                cluster = Cluster(
                    workers,
                    len(mod),
                    _seconds(mod, one),
                    costs,
                    sizes[nodes],
                    isinstance(one, Swap),
                )
                # The least, as what others take of the cores is not simulated.
                real, expected = min(times["run"]), _on_this_machine(cluster)
                yield Line(
                    f"{name} on {len(mod):,} functions of {nodes} nodes, "
                    f"{workers} worker{'s' * (workers > 1)}",
                    "simulated over measured, less 1",
                    Figure(100 * (expected / real - 1), unit="%"),
                    note=f"{1e3 * expected:.1f} ms : {1e3 * real:.1f} ms; in the last "
                    f"run workers waited {1e3 * _queued(runner):.1f} ms for a core",
                    times=times,
                )


def _queued(runner: Runner) -> float:
    """Return how long workers of the last run waited for a core, of all together."""
    assert runner.last_report is not None
    return runner.last_report.queued


def _seconds(mod: IRModule, one: FunctionPass) -> float:
    """Return what a pass takes on a function here, in seconds."""
    if isinstance(one, Heavy):
        return one.seconds
    if isinstance(one, Nothing):
        return 0.0
    one(mod)
    return clocked(lambda: one(mod), time.process_time)() / len(mod)


def _on_this_machine(cluster: Cluster) -> float:
    """Return the seconds of a simulated run where all share the cores of this one."""
    made = simulated(cluster)
    return max(made.seconds, made.processor / usable_cores())


def _ceilings(setting: Setting) -> Iterator[Line]:
    """Yield how many functions a second the coordinator can serve."""
    works = (
        (SMALL, Nothing(), "unchanged"),
        (SMALL, Swap(PAIRS), "changed"),
        (LARGE, Swap(PAIRS), "changed"),
    )
    with open_runner(workers=1) as runner, PassContext(config=USE_WORKERS):
        for nodes, one, outcome in works:
            mod = functions_of(nodes, setting.scaled(_COUNT * SMALL // nodes, 100))
            runner.run_sync(mod, one)
            taken: list[float] = []
            for _ in range(setting.repeat):
                began = time.process_time()
                made = runner.run_sync(mod, one)
                taken.append(time.process_time() - began)
                del made
            each = median(taken).value / len(mod)
            yield Line(
                f"{len(mod):,} functions of {nodes} nodes, {outcome}",
                "the coordinator's ceiling",
                Figure(1 / each, unit="functions/s"),
                note=f"{1e6 * each:.1f} us of its processor a function",
            )


def _paying(kind: _Kind) -> Iterator[Line]:
    ceiling = simulated(kind.at(WORKERS[-1], _TINY))
    served = kind.at(WORKERS[-1], _TINY).functions / ceiling.seconds
    yield Line(
        kind.name,
        f"simulated with {WORKERS[-1]} workers: the ceiling",
        Figure(served, unit="functions/s"),
        note=f"the coordinator is busy for {ceiling.coordinator:.0%}",
    )
    for workers in _PAYING:
        least = kind.least_paying(workers)
        yield Line(
            kind.name,
            f"{workers} workers pay from functions of",
            Figure(1e3 * least, unit="ms"),
        )


def _curves(kind: _Kind) -> Line:
    curves: dict[str, list[float]] = {"workers": [float(one) for one in WORKERS]}
    for milliseconds in MILLISECONDS:
        curves[f"{milliseconds:g} ms"] = [
            round(kind.efficiency(workers, milliseconds / 1e3), 4)
            for workers in WORKERS
        ]
    name = "share of the workers' time on functions, by their number"
    return Line(kind.name, name, None, curves=curves)


ROWS = (Row("scale", _scale),)
