"""To which worker a job is assigned."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from parpass.runner.pool.worker_pool import QueuedJob, WorkerHandle, WorkerPool


def ready_worker() -> WorkerHandle:
    """Return a worker that takes jobs, and runs none."""
    worker = WorkerHandle()
    process: Any = SimpleNamespace(send=bool)  # as if it arrived
    worker.process, worker.is_ready = process, True
    return worker


def assigned(*seconds: float) -> list[list[float]]:
    """Return the jobs of two workers, by their expected seconds, in order."""
    pool = WorkerPool(2, None)
    workers = [ready_worker(), ready_worker()]
    pool.handles = dict.fromkeys(workers, threading.Thread())
    pool.queue.extend(QueuedJob(b"job", Future(), one) for one in seconds)
    pool.assign_jobs()
    return [[job.seconds for job in worker.jobs()] for worker in workers]


def test_a_job_is_prefetched_by_the_worker_that_will_be_idle_first():
    assert assigned(0.02, 0.01, 0.008, 0.006) == [[0.02, 0.006], [0.01, 0.008]]


def test_a_long_job_waits_for_a_worker_that_is_idle():
    assert assigned(0.02, 0.01, 1.0) == [[0.02], [0.01]]
