"""What a run costs besides its work, measured: the figures that a simulation is fed.

Each cost is a coefficient: processor times of runs that differ in the number of
functions, in their bytes, and in the number of jobs, are solved for what one of each
takes. The runs have one worker, so that each process has a core on a machine of two.
"""

from __future__ import annotations

import contextlib
import logging
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import psutil

from bench.cluster_simulation import Costs
from bench.measure import Setting, clocked
from bench.work import PAIRS, USE_WORKERS, Heavy, Nothing, Swap, Work, no_pass
from parpass import IRModule, PassContext, open_runner
from parpass.runner import Runner, RunReport
from parpass.runner.pool.worker_pool import Pool

SMALL, LARGE = 10, 300  # nodes of a function
_FEW, _MANY = 1000, 4000  # functions
_JOB_SECONDS = 0.004  # of work on a function, of which the scheduler makes a job
_PLANNED_WORKERS = 16  # for which it makes them, so that there are many
_DASK_JOBS = 1000  # sent at once
_ROUND_TRIPS = 100


class _PlannedPool(Pool):
    """Has one worker; the scheduler plans for `planned`."""

    planned = 1

    @property
    def workers(self) -> int:
        return self.planned


class _Submits(Protocol):
    def submit(self, run: Callable[[bytes], bytes], job: bytes) -> Future[bytes]: ...


@dataclass(frozen=True)
class Observed:
    """What one run took: seconds of processors, and what there was to do."""

    functions: int
    there: int  # bytes
    back: int  # bytes; 0 if functions were unchanged
    jobs: int
    coordinator: float
    encoding: float
    worker: float  # the work aside
    is_changed: bool


def functions_of(nodes: int, count: int) -> IRModule:
    """Return a module of typed functions."""
    return Work(count, nodes, no_pass).module()


def measured_costs(setting: Setting) -> Costs:
    """Return the costs with a worker on this machine, which is reached by a pipe."""
    few, many = setting.scaled(_FEW, 50), setting.scaled(_MANY, 200)
    nothing, work = Nothing(), Heavy(_JOB_SECONDS)
    small, large = functions_of(SMALL, few), functions_of(LARGE, max(10, few // 10))
    with (
        contextlib.closing(_PlannedPool(1)) as executor,
        open_runner(executor=executor) as runner,
    ):

        def observed(mod: IRModule, what: Any, seconds: float = 0.0) -> Observed:
            return _observed(setting, runner, executor, mod, what, seconds)

        runs = [
            observed(functions_of(SMALL, many), nothing),
            observed(small, nothing),
            observed(large, nothing),
            observed(small, Swap(PAIRS)),
            observed(large, Swap(PAIRS)),
        ]
        executor.planned = _PLANNED_WORKERS
        part = functions_of(SMALL, max(20, few // 4))
        runs += [observed(part, work, _JOB_SECONDS)]
        executor.planned = 1
        way = round_trip(executor) / 2
    return replace(solved(runs), way=way)


def round_trip(executor: _Submits) -> float:
    """Return the seconds of a job that does nothing, there and back."""
    once = clocked(lambda: executor.submit(_worker_seconds, b"").result())
    return statistics.median(once() for _ in range(_ROUND_TRIPS))


def _observed(
    setting: Setting,
    runner: Runner,
    executor: _Submits,
    mod: IRModule,
    what: Any,
    seconds: float,
) -> Observed:
    """Return the least of what several runs of a pass took."""
    taken: list[tuple[float, float, float]] = []
    with PassContext(config=USE_WORKERS):
        runner.run_sync(mod, what)
        for _ in range(setting.repeat):
            before = _clock(executor)
            began = time.process_time()
            made = runner.run_sync(mod, what)
            took = time.process_time() - began
            taken.append((took, _last(runner).encoding, _clock(executor) - before))
            del made
    coordinator, encoding, worker = (min(one) for one in zip(*taken, strict=True))
    is_changed, count, report = isinstance(what, Swap), len(mod), _last(runner)
    return Observed(
        count,
        report.bytes_sent,
        report.bytes_received if is_changed else 0,
        report.jobs,
        coordinator,
        encoding,
        max(0.0, worker - count * seconds),
        is_changed,
    )


def _last(runner: Runner) -> RunReport:
    assert runner.last_report is not None
    return runner.last_report


def _clock(executor: _Submits) -> float:
    """Return the processor time of the only worker so far, in seconds."""
    return struct.unpack("d", executor.submit(_worker_seconds, b"").result())[0]


def _worker_seconds(_: bytes) -> bytes:
    return struct.pack("d", time.process_time())


def solved(runs: Sequence[Observed]) -> Costs:
    """Return the costs that explain what runs took."""
    kept = [run for run in runs if not run.is_changed]
    pack, byte = _coefficients(
        [(run.functions, run.there) for run in kept], [run.encoding for run in kept]
    )
    stage, function, send = _coefficients(
        [(1, run.functions, run.jobs) for run in kept],
        [run.coordinator - run.there * byte for run in kept],
    )
    load, work, work_byte, job = _coefficients(
        [(1, run.functions, run.there, run.jobs) for run in kept],
        [run.worker for run in kept],
    )
    costs = Costs(
        stage=stage,
        pack=min(pack, function),
        byte=byte,
        accept=max(0.0, function - pack),
        send=send,
        load=load,
        job=job,
        work=work,
        work_byte=work_byte,
    )
    changed = [run for run in runs if run.is_changed]
    unpack, back_byte = _coefficients(
        [(run.functions, run.back) for run in changed],
        [run.coordinator - _unchanged(run, costs) for run in changed],
    )
    return replace(costs, unpack=unpack, back_byte=back_byte)


def _unchanged(run: Observed, costs: Costs) -> float:
    """Return what a run had taken the coordinator if no function had changed."""
    each = costs.pack + costs.accept
    jobs = run.jobs * costs.send
    return costs.stage + run.functions * each + run.there * costs.byte + jobs


def _coefficients(
    counts: Sequence[tuple[float, ...]], seconds: Sequence[float]
) -> list[float]:
    """Return what one of each takes: least squares of relative errors, none below 0."""
    weights = 1 / np.maximum(np.array(seconds), 1e-6)
    rows = np.array(counts, float) * weights[:, None]
    left = list(range(rows.shape[1]))
    found = np.zeros(rows.shape[1])
    while left:
        solution = np.linalg.lstsq(rows[:, left], np.ones(len(counts)), rcond=None)[0]
        if solution.min() >= 0:
            found[left] = solution
            break
        left.pop(int(solution.argmin()))
    return found.tolist()


def measured_dask_costs(setting: Setting, here: Costs) -> Costs:
    """Return the costs where the worker is one of a Dask cluster.

    Scheduler and worker are processes of their own, on this machine: what a network
    adds is not in the way of a message.

    Args:
        setting: How to measure.
        here: The costs by a pipe; what Dask does not change is of these.

    Raises:
        ModuleNotFoundError: Dask is not installed.
    """
    jobs = setting.scaled(_DASK_JOBS, 50)
    with _dask_cluster() as (scheduler, client):
        executor: Any = import_module("parpass.integrations.dask").DaskExecutor(client)
        with executor:
            trip = round_trip(executor)  # and all is loaded
            there, here_seconds = sum(scheduler.cpu_times()[:2]), time.process_time()
            answers = [executor.submit(_worker_seconds, b"") for _ in range(jobs)]
            for answer in answers:
                answer.result()
            send = (time.process_time() - here_seconds) / jobs
            route = (sum(scheduler.cpu_times()[:2]) - there) / jobs
    way = max(here.way, (trip - send - route) / 2)
    return replace(here, send=here.send + send, route=route, way=way)


@contextlib.contextmanager
def _dask_cluster() -> Generator[tuple[psutil.Process, Any]]:
    """Give the process of a Dask scheduler with one worker, and a client of it."""
    distributed: Any = import_module("distributed")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        file = Path(folder, "scheduler.json")
        options = ("--scheduler-file", str(file))

        def start(*command: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli." + command[0], *command[1:]],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        scheduler = start("dask_scheduler", "--port", "0", "--no-dashboard", *options)
        start("dask_worker", "--nthreads", "1", "--no-dashboard", *options)
        client = stack.enter_context(distributed.Client(scheduler_file=str(file)))
        client.wait_for_workers(1)
        yield psutil.Process(scheduler.pid), client
        logging.disable()  # that the cluster ends is no news
