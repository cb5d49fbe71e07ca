"""What a job took: by the clock, of a processor, and in the queue for one."""

from __future__ import annotations

import contextlib
import os
import time

from parpass.runner.travel.messages import JobTimes

# Of this thread: nanoseconds on a processor, nanoseconds ready to run but without one,
# and how often it had one (Linux, Documentation/scheduler/sched-stats.rst).
_SCHEDSTAT = "/proc/thread-self/schedstat"


class JobClock:
    """Runs from its making on, for the thread that makes it.

    Args:
        is_own_process: Whether the process is a worker's own: then what its other
            threads take of a processor counts as well.
        asks: Whether to ask the system for the time in the queue.
    """

    def __init__(self, *, is_own_process: bool, asks: bool = True) -> None:
        self._processor = time.process_time if is_own_process else time.thread_time
        self._began = time.perf_counter()
        self._had = self._processor()
        self._queued = _queued() if asks else None

    def times(self) -> JobTimes:
        """Return what was taken until now.

        Where the system does not tell of the queue, or is not asked, all that the
        processor was not used for counts as waiting for it.
        """
        seconds = time.perf_counter() - self._began
        processor = self._processor() - self._had
        before, now = self._queued, None if self._queued is None else _queued()
        queued = seconds - processor
        if before is not None and now is not None:
            queued = now - before
        return JobTimes(seconds, processor, min(max(queued, 0.0), seconds))


def _queued() -> float | None:
    """Return the seconds that this thread waited for a processor; None if not known."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        file = os.open(_SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return int(os.read(file, 100).split()[1]) / 1e9
        finally:
            os.close(file)
    return None
