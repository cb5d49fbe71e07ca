"""Whose turn it is, where several runs use the same workers.

Each is to have as many workers as the others. By the order in which jobs came, a run
whose functions hang would have all of them, and a neighbour of many short jobs would
wait behind it for each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Protocol

from parpass.runner.executor import Asking, Executor
from parpass.runner.pool.staff import Posted, Worker


class Shared(Executor, Protocol):
    """A pool that is told whose jobs are."""

    def submit(
        self,
        run: Callable[[bytes], bytes],
        job: bytes,
        seconds: float = math.inf,
        *,
        of: object = None,
    ) -> Future[bytes]:
        """Have a worker call `run(job)`, on behalf of somebody."""
        ...

    def ask(
        self, run: Callable[[bytes], bytes], job: bytes, *, of: object = None
    ) -> bytes | None:
        """Have a worker call `run(job)`, and wait; None if it went wrong."""
        ...

    def expect(self) -> None:
        """Have a worker look out for a job that comes soon."""
        ...


class Share(Asking):
    """The workers of a pool as one run has them: an executor.

    Args:
        pool: The pool.
    """

    def __init__(self, pool: Shared) -> None:
        self._pool = pool
        self.workers = pool.workers
        self.start = pool.start
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
        """Have a process call `run(job)`."""
        return self._pool.submit(run, job, seconds, of=self)

    def expect(self) -> None:
        """Have a process look out for a job that comes soon."""
        self._pool.expect()

    def ask(self, run: Callable[[bytes], bytes], job: bytes) -> bytes | None:
        """Have a process call `run(job)`, and wait; None if it went wrong."""
        return self._pool.ask(run, job, of=self)


def next_due(queue: Sequence[Posted], staff: Iterable[Worker]) -> Posted:
    """Return the job that is next: of a run that has the fewest workers, the oldest."""
    if len(queue) == 1:
        return queue[0]
    at_work = Counter(
        one.of for worker in staff if not worker.is_over for one in worker.jobs()
    )
    return min(queue, key=lambda posted: at_work[posted.of])
