"""Queued jobs, worker handles, and the fair share of several runs in one pool.

Each run gets as many workers as the others. In order of arrival, a run whose functions
hang would occupy all of them, and short jobs of another run would wait behind each.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Protocol

import msgspec

from parpass.runner.executor import DirectExecutor, Executor
from parpass.runner.pool.worker_process import WorkerProcess

# A short job is prefetched by a worker that runs a short job, so that it need not wait
# for this process, whose threads may be busy. The message is small, since a worker that
# sends a result does not read. Both are jobs of one run: jobs of another run may take
# longer than expected, or hang.
_MAX_PREFETCH_SECONDS = 0.04
_MAX_PREFETCH_BYTES = 16_384


class QueuedJob(msgspec.Struct, eq=False):
    """A job that is queued or running.

    Attributes:
        message: The encoded call.
        answer: The future of its result.
        seconds: Its expected time; infinite if not known.
        is_cancelled: Whether its result is not needed, and its worker is to end soon.
        owner: The owner, which is the same for all jobs of a run.
    """

    message: bytes
    answer: Future[bytes]
    seconds: float
    is_cancelled: bool = False
    owner: object = None


class WorkerHandle:
    """A worker of a pool: its process, and the jobs assigned to it.

    Attributes:
        process: The process.
        is_ready: Whether the process has started, and takes jobs.
        current: The job that runs.
        next: The job that is prefetched.
        began: When the current job began, by `time.monotonic`.
        is_over: Whether the process has ended, or is about to.
        is_killed: Whether the pool killed it.
    """

    def __init__(self) -> None:
        self.process = WorkerProcess()
        self.is_ready = False
        self.current: QueuedJob | None = None
        self.next: QueuedJob | None = None
        self.began = 0.0
        self.is_over = False
        self.is_killed = False

    def jobs(self) -> list[QueuedJob]:
        """Return the jobs assigned to the worker that have no result."""
        return [one for one in (self.current, self.next) if one is not None]

    @property
    def is_idle(self) -> bool:
        """Whether the worker takes jobs, and has none."""
        return self.current is None and self.is_ready and not self.is_over

    def accepts(self, queued: QueuedJob) -> bool:
        """Return whether a job may be assigned to the worker now."""
        if not self.is_ready or self.is_over:
            return False
        if self.current is None:
            return True
        is_late = self.remaining_seconds() < -_MAX_PREFETCH_SECONDS
        return (
            self.next is None
            and self.current.owner is queued.owner
            and not is_late
            and self.current.seconds + queued.seconds <= _MAX_PREFETCH_SECONDS
            and len(queued.message) <= _MAX_PREFETCH_BYTES
        )

    def assign(self, queued: QueuedJob) -> bool:
        """Send a job to the worker; return False if the connection is broken."""
        if not self.process.send(queued.message):
            self.is_over = True  # its thread is about to notice
            return False
        if self.current is None:
            self.begin(queued)
        else:
            self.next = queued
        return True

    def begin(self, queued: QueuedJob) -> None:
        """Set the current job, and the time it began."""
        self.current, self.began = queued, time.monotonic()

    def remaining_seconds(self) -> float:
        """Return the expected time left of the current job; negative if it is late."""
        assert self.current is not None
        return self.began + self.current.seconds - time.monotonic()

    def mark_dead(self) -> None:
        """Exclude the worker from further jobs: it is about to be killed."""
        self.is_over = self.is_killed = True


class SharedExecutor(Executor, Protocol):
    """An executor whose jobs have owners, among which workers are shared fairly."""

    def submit(
        self,
        run: Callable[[bytes], bytes],
        job: bytes,
        seconds: float = math.inf,
        *,
        owner: object = None,
    ) -> Future[bytes]:
        """Submit a call of `run(job)` for an owner."""
        ...

    def withdraw(self, answer: Future[bytes]) -> bool:
        """Remove a job from the queue; return False if it is not in it."""
        ...

    def submit_and_wait(
        self, run: Callable[[bytes], bytes], job: bytes, *, owner: object = None
    ) -> bytes | None:
        """Run `run(job)` in a worker and wait; return its result, None if it failed."""
        ...

    def wake_worker(self) -> None:
        """Announce a job: an idle worker spins until it arrives."""
        ...


class FairShare(DirectExecutor):
    """The executor that one run uses: its jobs in a shared pool have it as their owner.

    Args:
        pool: The pool.
    """

    def __init__(self, pool: SharedExecutor) -> None:
        self._pool = pool
        self.workers = pool.workers
        self.start = pool.start
        self.withdraw = pool.withdraw
        self.end = pool.end
        self.kill = pool.kill
        self.close = pool.close

    @property
    def is_warm(self) -> bool:
        """Whether a process is ready."""
        return self._pool.is_warm

    def submit(
        self, run: Callable[[bytes], bytes], job: bytes, seconds: float = math.inf
    ) -> Future[bytes]:
        """Submit a call of `run(job)`; see `Executor.submit`."""
        return self._pool.submit(run, job, seconds, owner=self)

    def wake_worker(self) -> None:
        """Announce a job: an idle worker spins until it arrives."""
        self._pool.wake_worker()

    def submit_and_wait(
        self, run: Callable[[bytes], bytes], job: bytes
    ) -> bytes | None:
        """Run `run(job)` in a worker and wait; return its result, None if it failed."""
        return self._pool.submit_and_wait(run, job, owner=self)


def next_job(queue: Sequence[QueuedJob], handles: Iterable[WorkerHandle]) -> QueuedJob:
    """Return the oldest queued job of an owner that occupies the fewest workers."""
    if len(queue) == 1:
        return queue[0]
    at_work = Counter(
        one.owner for worker in handles if not worker.is_over for one in worker.jobs()
    )
    return min(queue, key=lambda queued: at_work[queued.owner])
