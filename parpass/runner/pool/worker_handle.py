"""A worker of a pool: the jobs that it has, and which one it gets next.

Each run gets as many workers as the others. In order of arrival, a run whose functions
hang would occupy all of them, and short jobs of another run would wait behind each.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

import msgspec

from parpass.runner.follow.inherited_state import inherited_state

if TYPE_CHECKING:
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
    """A worker of a pool: its process, which is started later, and its jobs.

    Attributes:
        is_ready: Whether the process has started, and takes jobs.
        current: The job that runs.
        next: The job that is prefetched.
        began: When the current job began, by `time.monotonic`.
        is_over: Whether the process has ended, or is about to.
        is_retired: Whether it gets no more jobs, and ends after those that it has.
    """

    def __init__(self, process: WorkerProcess) -> None:
        self.process = process
        self.inherited_state = inherited_state()
        self.is_retired = False
        self.is_ready = False
        self.current: QueuedJob | None = None
        self.next: QueuedJob | None = None
        self.began = 0.0
        self.is_over = False

    def jobs(self) -> list[QueuedJob]:
        return [one for one in (self.current, self.next) if one is not None]

    @property
    def may_take_jobs(self) -> bool:
        """Whether it takes jobs, or will once it is ready."""
        return not (self.is_over or self.is_retired)

    @property
    def takes_jobs(self) -> bool:
        return self.is_ready and self.may_take_jobs

    def accepts(self, queued: QueuedJob) -> bool:
        if not self.takes_jobs:
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
        self.current, self.began = queued, time.monotonic()

    def remaining_seconds(self) -> float:
        """Return the expected time left of the current job; negative if it is late.

        It is minus infinity if there is none.
        """
        if self.current is None:
            return -math.inf
        return self.began + self.current.seconds - time.monotonic()


def next_job(queue: Sequence[QueuedJob], handles: Iterable[WorkerHandle]) -> QueuedJob:
    """Return the oldest queued job of an owner that occupies the fewest workers."""
    if len(queue) == 1:
        return queue[0]
    at_work = Counter(
        one.owner for worker in handles if not worker.is_over for one in worker.jobs()
    )
    return min(queue, key=lambda queued: at_work[queued.owner])
