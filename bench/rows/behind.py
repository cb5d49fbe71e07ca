"""Row `behind`: a run with workers is not slower than the serial one, on any machine.

Default settings, and a runner that is opened for the run, so that no workers are kept
from one to the next. Free cores are those of this machine; taken ones are kept busy by
other programs, or there is only one for the run and all of its workers.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator

from bench.measure import Setting, clocked, interleaved, processor_seconds, ratio
from bench.table import Goal, Line, Row
from bench.work import Work, generated_function, light_pass, no_pass, tiny_command
from parpass import IRModule, Sequential, open_runner
from parpass.runner.cores import usable_cores

_FUNCTIONS = 10_000
_NODES = 10
_NOTHING, _FREE, _TAKEN = Goal(1.03), Goal(1.05), Goal(1.10)
_PROCESSOR, _GAIN = Goal(1.1), 0.95
_SPIN = "while True: pass"


def _behind(setting: Setting) -> Iterator[Line]:
    yield from _lines(setting, 2, "free cores", _NOTHING, _FREE)
    yield from _lines(setting, 4, "free cores", _FREE, _FREE)
    yield from _command_lines(setting)
    with _busy_cores():
        yield from _lines(
            setting, 2, "all cores but one kept busy by others", _TAKEN, _TAKEN
        )
    with _one_core():
        yield from _lines(setting, 2, "one core for all", _TAKEN, _TAKEN)


def _lines(
    setting: Setting, workers: int, where: str, no_op_goal: Goal, light_goal: Goal
) -> Iterator[Line]:
    count = setting.scaled(_FUNCTIONS, 100)
    typed = Work(count, _NODES, no_pass).module()
    kinds: dict[str, Callable[[], IRModule]] = {
        "typed": lambda: typed,
        "fresh": lambda: _untyped(count),
    }
    for name, make_passes, goal in (
        ("a no-op pass", no_pass, no_op_goal),
        ("a light pass", light_pass, light_goal),
    ):
        root = Sequential(make_passes())
        for kind, module in kinds.items():
            sides = {
                "serial": _run(module, root, None),
                "parallel": _run(module, root, workers),
            }
            interleaved(sides, 1)  # not counted: what is loaded and learnt once
            times = interleaved(sides, setting.fewer)
            yield Line(
                f"{name} on {count:,} {kind} functions of {_NODES} nodes, {where}",
                f"{workers} workers : serial",
                ratio(times, "parallel", "serial"),
                goal,
                times=times,
            )


def _command_lines(setting: Setting) -> Iterator[Line]:
    """Measure a command on a program of tiny functions, as it is given without -j."""
    count = setting.scaled(_FUNCTIONS // 2, 50)
    processor: dict[str, list[float]] = {"serial": [], "parallel": []}
    with tempfile.TemporaryDirectory() as folder:
        command = tiny_command(folder, count)

        def seconds_of(side: str, *options: str) -> Callable[[], float]:
            def run() -> None:
                processor[side].append(processor_seconds([*command, *options]))

            return clocked(run)

        sides = {
            "serial": seconds_of("serial", "-j0"),
            "parallel": seconds_of("parallel"),
        }
        times = interleaved(sides, setting.fewer)
    what = f"parpass opt -O2 on {count:,} tiny functions, free cores"
    figure = ratio(times, "parallel", "serial")
    yield Line(what, "without -j : -j0", figure, _NOTHING, times=times)
    # Where it gains, it may compute more.
    gains = figure.value < _GAIN
    goal = None if gains else _PROCESSOR
    figure = ratio(processor, "parallel", "serial")
    yield Line(what, "processor time, without -j : -j0", figure, goal, times=processor)


def _run(
    module: Callable[[], IRModule], root: Sequential, workers: int | None
) -> Callable[[], float]:
    """Return what runs a pass on a module made anew, and returns the seconds of it."""

    def seconds() -> float:
        mod = module()
        if workers is None:
            return clocked(lambda: root(mod))()
        return clocked(lambda: _run_alone(mod, root, workers))()

    return seconds


def _run_alone(mod: IRModule, root: Sequential, workers: int | None) -> None:
    with open_runner(workers=workers) as runner:
        runner.run_sync(mod, root)


def _untyped(count: int) -> IRModule:
    return IRModule({f"f{at}": generated_function(at, _NODES) for at in range(count)})


@contextlib.contextmanager
def _busy_cores() -> Generator[None]:
    """Have other programs keep all cores busy but one."""
    others = max(1, usable_cores() - 1)
    command = [sys.executable, "-c", _SPIN]
    spinning = [subprocess.Popen(command) for _ in range(others)]
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.wait()


@contextlib.contextmanager
def _one_core() -> Generator[None]:
    """Have this process, and those it starts, share a core, and not know of it."""
    allowed = os.sched_getaffinity(0)
    os.environ["LOKY_MAX_CPU_COUNT"] = str(len(allowed))
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
        del os.environ["LOKY_MAX_CPU_COUNT"]


ROWS = (Row("behind", _behind),)
