"""The workers of an executor, and the jobs that they are given."""

from __future__ import annotations

import time
from concurrent.futures import Future

import msgspec

from parpass.runner.pool.worker_process import Process

# A job waits behind another one, in the worker, if both are done soon: then the worker
# need not wait for this process, whose threads may be busy. It is small, for a worker
# that sends an answer does not read. And both are of one run: what another one does may
# take longer than is expected, or hang.
_SOON_SECONDS = 0.04
_SMALL_BYTES = 16_384


class Posted(msgspec.Struct, eq=False):
    """A job on its way.

    `is_ended` tells that nobody waits for it any more, and it is to be over soon. `of`
    is whose it is: those of one run are of the same.
    """

    message: bytes
    answer: Future[bytes]
    seconds: float
    is_ended: bool = False
    of: object = None


class Worker:
    """A worker, as the executor sees it.

    Attributes:
        process: Its process.
        is_ready: Whether it takes jobs.
        current: The job that it runs.
        next: The job that waits behind that.
        began: When it began with the one that it runs.
        is_over: Whether it ended, or is about to.
        is_killed: Whether it was killed on purpose.
    """

    def __init__(self) -> None:
        self.process = Process()
        self.is_ready = False
        self.current: Posted | None = None
        self.next: Posted | None = None
        self.began = 0.0
        self.is_over = False
        self.is_killed = False

    def jobs(self) -> list[Posted]:
        """Return those that it was given and has not answered."""
        return [one for one in (self.current, self.next) if one is not None]

    @property
    def is_idle(self) -> bool:
        """Whether it takes jobs, and has none."""
        return self.current is None and self.is_ready and not self.is_over

    def takes(self, posted: Posted) -> bool:
        """Return whether it may be given a job now."""
        if not self.is_ready or self.is_over:
            return False
        if self.current is None:
            return True
        is_late = self.left_seconds() < -_SOON_SECONDS
        return (
            self.next is None
            and self.current.of is posted.of
            and not is_late
            and self.current.seconds + posted.seconds <= _SOON_SECONDS
            and len(posted.message) <= _SMALL_BYTES
        )

    def give(self, posted: Posted) -> bool:
        """Give it a job; return whether it could be told."""
        if not self.process.send(posted.message):
            self.is_over = True  # its thread is about to learn of it
            return False
        if self.current is None:
            self.begin(posted)
        else:
            self.next = posted
        return True

    def begin(self, posted: Posted) -> None:
        """Take down that it runs a job."""
        self.current, self.began = posted, time.monotonic()

    def left_seconds(self) -> float:
        """Return how long it will be busy with its job, as far as is known."""
        assert self.current is not None
        return self.began + self.current.seconds - time.monotonic()

    def condemn(self) -> None:
        """Give it no job any more: it is about to be killed."""
        self.is_over = self.is_killed = True
