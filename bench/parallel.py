"""How close a parallel run comes to what the cores can do.

    python bench/parallel.py [--workers N] [--repeat R] [--scale S] [--json FILE]

For each kind of work, in one run and interleaved: the serial time, the parallel time on
a warm pool, and the limit: the same passes on the same functions in as many independent
processes, which share nothing and send nothing back. All parts of a parallel run count:
packing, the journey, and unpacking all results. Printed are medians and, as noise, the
distance between the quartiles as a share of the median.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from multiprocessing.synchronize import Barrier
from typing import TextIO

import click
from rich.console import Console
from rich.table import Table
from work import KINDS, Kind

import parpass
from parpass.transform import Sequential


@dataclass(frozen=True)
class Row:
    """The seconds of one kind of work, run by run."""

    work: str
    functions: int
    serial: list[float]
    parallel: list[float]
    limit: list[float]


def main(workers: int | None, repeat: int, scale: float) -> list[Row]:
    """Measure all kinds of work."""
    count = workers or len(os.sched_getaffinity(0))
    with parpass.open_runner(workers=count) as runner:
        return [_measure(kind, runner, count, repeat, scale) for kind in KINDS]


def _measure(
    kind: Kind, runner: parpass.Runner, workers: int, repeat: int, scale: float
) -> Row:
    functions = max(workers, int(kind.functions * scale))
    mod = kind.module(0, functions)
    passes = kind.passes()
    row = Row(kind.name, functions, [], [], [])
    runner.run_sync(mod, passes)  # starts the pool
    expected = Sequential(passes)(mod)
    for _ in range(repeat):
        row.serial.append(_timed(lambda: Sequential(passes)(mod)))
        row.parallel.append(_timed(lambda: runner.run_sync(mod, passes)))
        row.limit.append(_limit(kind, functions, workers))
    parpass.assert_structural_equal(runner.run_sync(mod, passes), expected)
    return row


def _timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _limit(kind: Kind, functions: int, workers: int) -> float:
    """Return the time of independent processes, each with its share of the functions.

    Every process makes its own functions before the clock starts.
    """
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(workers)
    results = spawn.SimpleQueue()
    processes = [
        spawn.Process(
            target=_share,
            args=(KINDS.index(kind), part, functions, workers, barrier, results),
        )
        for part in range(workers)
    ]
    for process in processes:
        process.start()
    spans = [results.get() for _ in processes]
    for process in processes:
        process.join()
    return max(end for _, end in spans) - min(begin for begin, _ in spans)


def _share(
    which: int,
    part: int,
    functions: int,
    workers: int,
    barrier: Barrier,
    results: multiprocessing.SimpleQueue[tuple[float, float]],
) -> None:
    kind = KINDS[which]
    # Every workers-th function: neighbours are alike, so the shares are, too.
    mod = kind.module(part, functions, workers)
    pipeline = Sequential(kind.passes())
    pipeline(kind.module(0, 1))  # what is loaded at the first run
    barrier.wait()
    began = time.monotonic()
    pipeline(mod)
    results.put((began, time.monotonic()))


def _show(rows: list[Row], workers: int) -> None:
    console = Console()
    table = Table(
        title=f"{workers} workers, {platform.python_implementation()} "
        f"{platform.python_version()}, {os.cpu_count()} cores"
    )
    for heading in ("work", "functions", "serial", "parallel", "limit"):
        table.add_column(heading, justify="left" if heading == "work" else "right")
    table.add_column("speed-up", justify="right")
    table.add_column("of the limit", justify="right")
    for row in rows:
        serial, parallel, limit = (
            statistics.median(times) for times in (row.serial, row.parallel, row.limit)
        )
        table.add_row(
            row.work,
            str(row.functions),
            _seconds(row.serial),
            _seconds(row.parallel),
            _seconds(row.limit),
            f"{serial / parallel:.2f} x",
            f"{parallel / limit:.2f} x its time",
        )
    console.print(table)


def _seconds(times: list[float]) -> str:
    median = statistics.median(times)
    if len(times) < 2:
        return f"{median:.3f} s"
    low, _, high = statistics.quantiles(times, n=4, method="inclusive")
    return f"{median:.3f} s ±{(high - low) / median / 2:.0%}"


@click.command(help=__doc__)
@click.option("--workers", type=int, help="Processes; by default one for each core.")
@click.option("--repeat", default=5, show_default=True, help="Runs of everything.")
@click.option("--scale", default=1.0, show_default=True, help="Share of the functions.")
@click.option("--json", "json_file", type=click.File("w"), help="Write all times here.")
def command(
    workers: int | None,
    repeat: int,
    scale: float,
    json_file: TextIO | None,
) -> None:
    """Measure and print."""
    rows = main(workers, repeat, scale)
    _show(rows, workers or len(os.sched_getaffinity(0)))
    if json_file is not None:
        json_file.write(json.dumps([asdict(row) for row in rows], indent=2))


if __name__ == "__main__":
    command()
