"""Rows `dask` and `engines`: workers of a Dask cluster, held against loky's here.

The cluster is on this machine, too, so its own processes, and those in which its
workers run jobs, share the cores with the work. It is as it comes: that Dask looks at
itself less often, as `docs/with-dask.md` advises, is for its own variables to say.
"""

from __future__ import annotations

import contextlib
import logging
import os
import statistics
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from importlib import import_module
from typing import Any

import psutil

from bench.measure import (
    Setting,
    clocked,
    import_distributed,
    interleaved,
    median,
    ratio,
)
from bench.table import Goal, Line, Row
from bench.work import USE_WORKERS, Work, heavier_pass
from examples.own_executor import ProcessExecutor
from parpass import PassContext, Sequential, open_runner

_WORKERS = (2, 4)

Engine = Callable[[int], contextlib.AbstractContextManager[Any]]


@contextlib.contextmanager
def _dask(workers: int) -> Generator[Any]:
    """Give an executor on a Dask cluster of processes on this machine."""
    distributed: Any = import_distributed()  # in nobody's process but this
    executor_of: Any = import_module("parpass.integrations.dask").DaskExecutor
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        with executor_of(client) as executor:
            yield executor
        client.run(logging.disable)  # a heartbeat that meets the cluster's end says so


@contextlib.contextmanager
def _own(workers: int) -> Generator[Any]:
    """Give the executor of `examples/own_executor.py`."""
    executor = ProcessExecutor(workers)
    try:
        yield executor
    finally:
        executor.close()


def _loky(workers: int) -> contextlib.AbstractContextManager[int]:
    return contextlib.nullcontext(workers)


_ENGINES: Mapping[str, Engine] = {
    "loky": _loky,
    "own": _own,
    "dask": _dask,
}


def _runner(given: Any) -> Any:
    if isinstance(given, int):
        return open_runner(workers=given)
    return open_runner(executor=given)


def _against_loky(setting: Setting) -> Iterator[Line]:
    """Yield a line for each number of workers: on a Dask cluster, and with loky's."""
    compares = "parallel run on a Dask cluster : with as many loky workers"
    for workers in _WORKERS:
        work = Work(setting.scaled(5000, 8 * workers), 30, heavier_pass)
        told = f"one pass of 20 ms on {work.functions:,} functions, {workers} workers"
        times = _throughput(work, workers, setting.fewer, ("dask", "loky"))
        figure = ratio(times, "dask", "loky")
        yield Line(told, compares, figure, Goal(1.15), times=times)


def _throughput(
    work: Work, workers: int, rounds: int, names: tuple[str, ...]
) -> dict[str, list[float]]:
    """Return the seconds of a pass over much work, by engine, all of them warm."""
    mod, passes = work.module(), Sequential(work.passes())
    few = work.share(0, max(1, work.functions // (8 * workers)))
    context = PassContext(config=USE_WORKERS)
    with contextlib.ExitStack() as stack:
        runners: dict[str, Any] = {}
        for name in names:
            given = stack.enter_context(_ENGINES[name](workers))
            runners[name] = stack.enter_context(_runner(given))
        for runner in runners.values():  # starts processes, and loads all
            runner.run_sync(few, passes, context=context)
        sides = {
            name: clocked(
                lambda runner=runner: runner.run_sync(mod, passes, context=context)
            )
            for name, runner in runners.items()
        }
        return interleaved(sides, rounds)


def _engines(setting: Setting) -> Iterator[Line]:
    """Yield what two workers of each engine take to start, and in memory."""
    work = Work(16, 30, heavier_pass)
    seconds: dict[str, list[float]] = {name: [] for name in _ENGINES}
    memory: dict[str, list[float]] = {name: [] for name in _ENGINES}
    missing: set[str] = set()
    for _ in range(setting.fewer):
        for name, engine in _ENGINES.items():
            try:
                taken, size = _started(engine, work)
            except ModuleNotFoundError:
                missing.add(name)
            else:
                seconds[name].append(taken)
                memory[name].append(size)
    for name in _ENGINES:
        what = f"{name}: 2 workers"
        if name in missing:
            yield Line(what, "start", None, note="not installed")
            continue
        one = median(seconds[name])
        yield Line(what, "from nothing to the first 16 results", one)
        size = statistics.median(memory[name])
        note = "its processes' unique set sizes"
        yield Line(what, "memory", median([size], "MB"), note=note)


def _started(engine: Engine, work: Work) -> tuple[float, float]:
    """Return seconds until the first results, and the megabytes of what was started."""
    mod, passes = work.module(), Sequential(work.passes())
    me = psutil.Process(os.getpid())
    before = set(me.children(recursive=True))
    began = time.perf_counter()
    with engine(2) as given, _runner(given) as runner:
        runner.run_sync(mod, passes, context=PassContext(config=USE_WORKERS))
        seconds = time.perf_counter() - began
        started = set(me.children(recursive=True)) - before
        size = sum(map(_unique_bytes, started)) / 2**20
    return seconds, size


def _unique_bytes(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error):  # it has ended
        return int(process.memory_full_info().uss)
    return 0


ROWS = (
    Row("dask", _against_loky, needs="distributed"),
    Row("engines", _engines),
)
