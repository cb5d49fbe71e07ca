"""Row `cold`: what the first import and the first parallel run cost."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import parpass
from bench.fresh import in_fresh_process
from bench.measure import Setting, clocked, difference, interleaved, median, ratio
from bench.table import Goal, Line, Row
from bench.work import Heavy, Work
from parpass import Pass, Sequential

_FUNCTIONS, _WORKERS = 100, 2  # what the goals are stated for


def _cold(setting: Setting) -> Iterator[Line]:
    yield _importing(setting)
    yield from _first_run(setting)


def _importing(setting: Setting) -> Line:
    def interpreter(program: str) -> None:
        subprocess.run([sys.executable, "-c", program], check=True)

    times = interleaved(
        {
            "import": clocked(lambda: interpreter("import parpass")),
            "bare": clocked(lambda: interpreter("pass")),
        },
        4 * setting.repeat,
        collect=False,
    )
    return Line(
        "import parpass",
        "over a bare interpreter",
        difference(times, "import", "bare").times(1e3, "ms"),
        Goal(60),
        times=times,
    )


def _first_run(setting: Setting) -> Iterator[Line]:
    work = Work(setting.scaled(_FUNCTIONS, setting.workers), 30, six_ms_pass)
    runs = [
        in_fresh_process(_first_second_and_serial, work) for _ in range(setting.repeat)
    ]
    loky = [in_fresh_process(_start_loky) for _ in range(setting.repeat)]
    first, second, serial = (list(one) for one in zip(*runs, strict=True))
    times = {"first": first, "warm": second, "serial": serial, "loky": loky}
    times["over"] = [one - two for one, two, _ in runs]
    what = (
        f"one pass of 6 ms on {work.functions:,} functions by {_WORKERS} workers, "
        "in a new process"
    )
    yield Line(
        what,
        f"first parallel run over the second : {_WORKERS} workers of loky's that "
        "import numpy",
        ratio(times, "over", "loky"),
        Goal(0.8),
        note=f"{median(times['over']).value:.2f} s : {median(loky).value:.2f} s; the "
        f"second takes {median(second).value:.2f} s",
        times=times,
    )
    yield Line(
        what, "first parallel run : serial", ratio(times, "first", "serial"), Goal(1)
    )


def _first_second_and_serial(work: Work) -> tuple[float, float, float]:
    mod, passes = work.module(), Sequential(work.passes())
    with parpass.open_runner(workers=_WORKERS) as runner:
        run = clocked(lambda: runner.run_sync(mod, passes))
        return run(), run(), clocked(lambda: passes(mod))()


def _start_loky() -> float:
    """Return how long loky takes to start workers that import numpy, in seconds."""
    loky: Any = import_module("loky")
    began = time.perf_counter()
    executor = loky.ProcessPoolExecutor(_WORKERS)
    # Each is handed a job that takes a while, so that no worker gets two.
    started = [executor.submit(_import_numpy) for _ in range(_WORKERS)]
    for one in started:
        one.result()
    took = time.perf_counter() - began
    executor.shutdown()
    return took


def _import_numpy() -> None:
    import_module("numpy")


def six_ms_pass() -> list[Pass]:
    """Return one pass of 6 ms a function."""
    return [Heavy(0.006)]


ROWS = (Row("cold", _cold),)
