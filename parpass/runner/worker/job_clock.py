"""What a job took: by the clock, of a processor, and in the queue for one."""

from __future__ import annotations

import contextlib
import os
import time

from parpass.runner.travel.messages import JobTimes

# Of this thread: nanoseconds on a processor, nanoseconds ready to run but without one,
# and how often it had one (Linux, Documentation/scheduler/sched-stats.rst).
_SCHEDSTAT = "/proc/thread-self/schedstat"
_LITTLE = 1e-4  # seconds


class JobClock:
    """Runs from its making on, for the thread that makes it.

    Args:
        is_own_process: Whether the process is a worker's own: then what its other
            threads take of a processor counts as well.
    """

    def __init__(self, *, is_own_process: bool) -> None:
        self._processor = time.process_time if is_own_process else time.thread_time
        self._began = time.perf_counter()
        self._had = self._processor()
        self._queued = _queued()

    def times(self) -> JobTimes:
        """Return what was taken until now.

        Where the system does not tell of the queue, all that the processor was not used
        for counts as waiting for it.
        """
        seconds = time.perf_counter() - self._began
        processor = self._processor() - self._had
        queued = seconds - processor
        # Of so little nothing is worth asking the system for.
        if queued > _LITTLE and self._queued is not None:
            now = _queued()
            queued = queued if now is None else now - self._queued
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
