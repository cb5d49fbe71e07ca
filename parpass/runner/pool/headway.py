"""How workers come on with a stage, against what this process would take alone."""

from __future__ import annotations

_ENOUGH_JOBS = 4  # that came back, to say how fast they come,
_ENOUGH_SECONDS = 0.05  # and how long they took for each worker
_BEHIND = 1.1  # times as long as this process takes, so that it takes the rest


class Headway:
    """What the workers of a stage have delivered, as far as it is known.

    Args:
        workers: How many there are.
        alone_seconds: What this process would take for the stage; None if that is not
            known, or it must not take over.
    """

    def __init__(self, workers: int, alone_seconds: float | None) -> None:
        self._workers = workers
        self._alone_seconds = alone_seconds
        self._jobs = 0
        self._busy = 0.0  # seconds of all workers on jobs that came back
        self._first = 0.0, 0.0  # the same, and the share that was done, at first

    def job_came_back(self, seconds: float) -> None:
        """Take down how long a job took, by the clock of its worker."""
        self._jobs += 1
        self._busy += seconds

    def is_behind(self, share_done: float) -> bool:
        """Return whether the workers are slower than this process would be alone.

        The time that jobs took is held against what this process takes for as much. The
        first job of each worker does not count: it loads what the others find.

        Args:
            share_done: The share of the stage's work that is done by now.
        """
        if self._alone_seconds is None:
            return False
        if self._jobs <= self._workers:
            self._first = self._busy, share_done
            return False
        busy, before = self._first
        here = (share_done - before) * self._alone_seconds
        there = (self._busy - busy) / self._workers
        is_told = self._jobs >= self._workers + _ENOUGH_JOBS and there > _ENOUGH_SECONDS
        return is_told and there > _BEHIND * here
