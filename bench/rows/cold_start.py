"""Row `cold`: what the first import and the first parallel run cost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import parpass
from bench.fresh import in_fresh_process
from bench.measure import Setting, clocked, difference, interleaved, median
from bench.table import Goal, Line, Row
from bench.work import USE_WORKERS, Work, heavy_pass
from parpass import PassContext, Sequential


def _cold(setting: Setting) -> Iterator[Line]:
    yield _importing(setting)
    yield _first_run(setting)


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


def _first_run(setting: Setting) -> Line:
    work = Work(setting.scaled(400, setting.workers), 30, heavy_pass)
    pairs = [
        in_fresh_process(_first_and_second, work, setting.workers)
        for _ in range(setting.repeat)
    ]
    times = {"first": [one for one, _ in pairs], "warm": [two for _, two in pairs]}
    return Line(
        f"one pass of 5 ms on {work.functions:,} functions, in a new process",
        "first parallel run over the second",
        difference(times, "first", "warm"),
        Goal(0.5),
        note=f"the second takes {median(times['warm']).value:.2f} s",
        times=times,
    )


def _first_and_second(work: Work, workers: int) -> tuple[float, float]:
    mod, passes = work.module(), Sequential(work.passes())
    with (
        PassContext(config=USE_WORKERS),
        parpass.open_runner(workers=workers) as runner,
    ):
        run = clocked(lambda: runner.run_sync(mod, passes))
        return run(), run()


ROWS = (Row("cold", _cold),)
