"""What a job took: by the clock, of a processor, and in the queue for one."""

from __future__ import annotations

import contextlib
import os
import sys
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
        is_brief: Whether the job is likely to be shorter than it takes to read the time
            in the queue, some 20 us.
    """

    def __init__(self, *, is_own_process: bool, is_brief: bool = False) -> None:
        self._processor = time.process_time if is_own_process else time.thread_time
        self._is_brief = is_brief
        self._began = time.perf_counter()
        self._had = self._processor()
        self._before = _waits() if is_brief else _queued()

    def times(self) -> JobTimes:
        """Return what was taken until now.

        Where the system does not tell of the queue, all that the processor was not used
        for counts as waiting for it. So it does in a brief job, unless this thread has
        waited for something else as well: then nothing counts.
        """
        seconds = time.perf_counter() - self._began
        processor = self._processor() - self._had
        before, now = self._before, _waits() if self._is_brief else _queued()
        queued = seconds - processor
        if before is not None and now is not None:
            if not self._is_brief:
                queued = now - before
            elif now > before:
                queued = 0.0
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


def _waits() -> float | None:
    """Return how often this thread gave its processor back; None if not known."""
    if sys.platform != "linux":
        return None
    import resource  # which not all systems have

    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
