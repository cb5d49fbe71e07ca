"""Metering of jobs: their times, and the state that passes keep between functions."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from parpass.runner.ipc.messages import JobTimes
from parpass.transform import Pass
from parpass.transform.passes import holders_of

# Of this thread: nanoseconds on a processor, nanoseconds ready to run but without one,
# and how often it had one (Linux, Documentation/scheduler/sched-stats.rst).
_SCHEDSTAT = "/proc/thread-self/schedstat"

_Attribute = tuple[int, str]  # the index of the pass, and the name of the attribute


class JobTimer:
    """Measures the times of a job from construction on, in the constructing thread.

    Args:
        is_own_process: Whether the process runs only this worker; if so, the processor
            time of all its threads counts.
        is_short: Whether the job is likely to take less time than reading the time in
            the run queue, some 20 us.
    """

    def __init__(self, *, is_own_process: bool, is_short: bool = False) -> None:
        self._cpu_clock = time.process_time if is_own_process else time.thread_time
        self._is_short = is_short
        self._waiting = _voluntary_switches if is_short else _run_queue_seconds
        self._began = time.perf_counter()
        self._cpu_before = self._cpu_clock()
        self._before = self._waiting()

    def times(self, copying: float = 0.0) -> JobTimes:
        """Return the times until now; of copies, the given one.

        Where the system does not report the time in the run queue, and in short jobs,
        that time is estimated as elapsed time minus processor time. In a short job it
        is 0 if the thread blocked voluntarily, such as for I/O.
        """
        seconds = time.perf_counter() - self._began
        processor = self._cpu_clock() - self._cpu_before
        before, now = self._before, self._waiting()
        queued = seconds - processor
        if before is not None and now is not None:
            if not self._is_short:
                queued = now - before
            elif now > before:
                queued = 0.0
        queued = min(max(queued, 0.0), seconds)
        return JobTimes(seconds, processor, queued, os.getpid(), copying)


def _run_queue_seconds() -> float | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        file = os.open(_SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return int(os.read(file, 100).split()[1]) / 1e9
        finally:
            os.close(file)
    return None


def _voluntary_switches() -> float | None:
    if sys.platform != "linux":
        return None
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


class PassStateMonitor:
    """Detects attributes of passes that change between functions.

    An attribute that a pass sets lazily, such as a `cached_property` or a table in
    place of None, depends on its options only, and is the same in each worker. But if
    the value of an attribute changes with a function, later functions may depend on
    earlier ones, and the result on which worker ran which function.
    """

    def __init__(self, steps: Sequence[Pass]) -> None:
        self._steps = steps
        self._before = _attributes(steps)
        self._changed: dict[tuple[str, str], None] = {}

    def sample(self) -> list[tuple[str, str]]:
        """Return the attributes changed since construction: pass name and attribute."""
        before, self._before = self._before, _attributes(self._steps)
        for (at, attribute), value in before.items():
            now = self._before.get((at, attribute))
            if value is not None and now is not value and not _equal(now, value):
                self._changed[self._steps[at].info.name, attribute] = None
        return list(self._changed)


def _attributes(steps: Sequence[Pass]) -> dict[_Attribute, Any]:
    found: dict[_Attribute, Any] = {}
    for at, step in enumerate(steps):
        for holder in holders_of(step):
            for name, value in getattr(holder, "__dict__", {}).items():
                found[at, name] = value
    return found


def _equal(one: Any, other: Any) -> bool:
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:  # noqa: BLE001 -- __eq__ of a user's class may raise anything
        return False
