"""Row `alternatives`: what else shares functions out to processes, or to threads.

A pass that computes for so many milliseconds runs on functions of ten nodes, from few
to many and from light to heavy: serially, by parpass, and by each peer, whose processes
are warm. Beside them is what limits all: independent processes.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import parpass
from bench.fresh import in_fresh_process
from bench.limit import Limit
from bench.measure import Figure, Setting, clocked, interleaved, median, ratio
from bench.memory import peak_growth_of_all
from bench.peers.pools import DASK, JOBLIB, POOL, Pool
from bench.table import Line, Row
from bench.work import USE_WORKERS, Counting, Nothing, Work
from parpass import IRModule, PassContext, Sequential, relay
from parpass.runner import Runner

_NODES = 10
_COUNTS = (10, 100, 1_000, 10_000)
_MILLISECONDS = (0.01, 0.1, 1.0, 10.0, 100.0)
_MOST = 1.2  # seconds of a serial run
_SERIAL, _OURS, _LIMIT = "serial", "parpass", "independent processes"
_MLIR = ((10_000, 10), (200, 300))  # functions, and operations in each


class Share:
    """A part of the work, for a process of the limit.

    Args:
        functions: How many there are in all.
        loops: How much is computed on each.
    """

    def __init__(self, functions: int, loops: int) -> None:
        self.work, self.loops = Work(functions, _NODES, list), loops

    def __call__(
        self, part: int, parts: int
    ) -> tuple[IRModule, Callable[[IRModule], object]]:
        """Return the functions of a part, and what runs the pass on them."""
        return self.work.share(part, parts), Sequential([Counting(self.loops)])


def _alternatives(setting: Setting) -> Iterator[Line]:
    yield from in_fresh_process(_start, setting)
    loops = _loops_of_a_millisecond()
    opened = {peer.name: peer.open(setting.workers) for peer in (JOBLIB, POOL, DASK)}
    peers = {name: one for name, one in opened.items() if not isinstance(one, str)}
    try:
        with parpass.open_runner(workers=setting.workers) as runner:
            warm = Work(setting.workers, _NODES, list).module()
            with PassContext(config=USE_WORKERS):
                runner.run_sync(warm, [Nothing()])
            for count in _COUNTS:
                yield _curves(setting, count, loops, runner, peers)
    finally:
        for peer in peers.values():
            peer.close()
    for name, reason in opened.items():
        if isinstance(reason, str):
            yield Line(name, "speed-up", None, note=reason)
    yield from _threads_of_mlir(setting)


def _loops_of_a_millisecond() -> float:
    """Return how many loops of the pass take a millisecond of this processor."""
    run = partial(Counting(1_000).run, relay.Function((), relay.const(0)))
    run()
    each = min(clocked(run, time.process_time)() for _ in range(5))
    return 1.0 / each


def _curves(
    setting: Setting,
    count: int,
    loops: float,
    runner: Runner,
    peers: dict[str, Pool],
) -> Line:
    """Return the speed-up of each, by the cost of the pass on a function."""
    functions = setting.scaled(count, setting.workers)
    mod = Work(functions, _NODES, list).module()
    costs = [one for one in _MILLISECONDS if one * count <= 1e3 * _MOST]
    curves: dict[str, list[float]] = {"ms of a pass on a function": costs}
    all_times: dict[str, list[float]] = {}
    for cost in costs:
        times = _times(setting, mod, round(cost * loops), runner, peers)
        for name in times:
            if name != _SERIAL:
                speed_up = round(ratio(times, _SERIAL, name).value, 3)
                curves.setdefault(name, []).append(speed_up)
            all_times[f"{name}, {cost:g} ms"] = times[name]
    what = f"{functions:,} functions of {_NODES} nodes"
    return Line(what, "serial run : run", None, times=all_times, curves=curves)


def _times(
    setting: Setting,
    mod: IRModule,
    loops: int,
    runner: Runner,
    peers: dict[str, Pool],
) -> dict[str, list[float]]:
    passes, items = Sequential([Counting(loops)]), list(mod.functions_by_name.values())
    step = Counting(loops).run
    with Limit(Share(len(items), loops), setting.workers) as limit:
        sides: dict[str, Callable[[], float]] = {
            _SERIAL: clocked(lambda: passes(mod)),
            _OURS: clocked(lambda: runner.run_sync(mod, [Counting(loops)])),
            _LIMIT: limit.seconds,
        }
        for name, peer in peers.items():
            sides[name] = clocked(lambda peer=peer: peer.map(step, items))
        for run in sides.values():
            run()  # starts processes, and lets costs be known
        once = [DASK.name] if len(items) > 100 else []
        return interleaved(sides, setting.repeat, once=once)


def _start(setting: Setting) -> Sequence[Line]:
    """Return what workers cost before they have done anything."""
    mod, taken = Work(setting.workers, _NODES, list).module(), list[float]()

    def first_less_second() -> None:
        with (
            parpass.open_runner(workers=setting.workers) as runner,
            PassContext(config=USE_WORKERS),
        ):
            run = clocked(lambda: runner.run_sync(mod, [Nothing()]))
            taken.append(run() - run())

    grown = peak_growth_of_all(first_less_second) / setting.workers
    for _ in range(setting.repeat - 1):
        first_less_second()
    what = f"{setting.workers} workers, started for a run"
    return [
        Line(what, "what they add to it", median(taken), times={"start": taken}),
        Line(what, "memory, for each", Figure(grown / 1e6, unit="MB")),
    ]


def _threads_of_mlir(setting: Setting) -> Iterator[Line]:
    """Yield what MLIR's threads make of its own passes, by IREE's bindings of it."""
    for count, operations in _MLIR:
        functions = setting.scaled(count, 10)
        what = (
            f"MLIR's canonicalize and cse on {functions:,} functions of "
            f"{operations} operations"
        )
        try:
            run = partial(_seconds_of_mlir, _mlir_text(functions, operations))
            sides = {
                "one": partial(run, threads=False),
                "all": partial(run, threads=True),
            }
            times = interleaved(sides, setting.repeat)
        except ModuleNotFoundError:
            yield Line(what, "one thread : all", None, note="not installed")
            continue
        yield Line(what, "one thread : all", ratio(times, "one", "all"), times=times)
        each = median(times["one"]).times(1e6 / functions, "us")
        yield Line(what, "one thread, for a function", each)


def _mlir_text(functions: int, operations: int) -> str:
    lines: list[str] = []
    for name in range(functions):
        lines += [
            f"func.func @f{name}(%a: i32, %b: i32) -> i32 {{",
            "%zero = arith.constant 0 : i32",
            "%v0 = arith.addi %a, %b : i32",
        ]
        for at in range(1, operations):
            kind = ("addi", "muli", "subi")[(at * name + at) % 3]
            other = ("a", "b", "zero")[(at + name) % 3]
            lines.append(f"%v{at} = arith.{kind} %v{at - 1}, %{other} : i32")
        lines += [f"return %v{operations - 1} : i32", "}"]
    return "\n".join(lines)


def _seconds_of_mlir(text: str, *, threads: bool) -> float:
    ir: Any = importlib.import_module("iree.compiler.ir")
    manager: Any = importlib.import_module("iree.compiler.passmanager")
    with ir.Context() as context:
        context.enable_multithreading(threads)
        mod = ir.Module.parse(text)
        passes = manager.PassManager.parse(
            "builtin.module(func.func(canonicalize,cse))"
        )
        return clocked(lambda: passes.run(mod.operation))()


ROWS = (Row("alternatives", _alternatives),)
