"""The number of cores for workers, and whether this system supports workers."""

from __future__ import annotations

import contextlib
import math
import os
import signal
from pathlib import Path

from parpass.errors import Hint, HintedMessage, SlowerRunWarning
from parpass.errors.warning import warn
from parpass.runner.open_files import HAS_LOCKS

# The processor time that a container may use, and in which time: both in one file
# (version 2 of cgroups), or each in its own (version 1).
_CGROUPS = "/sys/fs/cgroup"
_QUOTA = ("cpu.max",)
_OLD_QUOTA = ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")

_UNCHECKED_WORKERS = 32  # workers, that may be had even where there are few cores
_MAX_WORKERS_PER_CORE = 4  # workers at most


def supports_workers() -> bool:
    """Return whether this system has POSIX file locks and signals.

    A process that holds a lock is alive, and one that hangs is killed. On Windows,
    which has neither, everything runs in one process.
    """
    return HAS_LOCKS and hasattr(signal, "SIGKILL")


def usable_cores() -> int:
    """Return how many processes can run at once.

    This is the number of cores, or less if the affinity mask of this process, the quota
    of its container, or `LOKY_MAX_CPU_COUNT` says so. It is that of `loky.cpu_count`,
    whose import takes longer than a run that needs no workers.
    """
    cores = os.cpu_count() or 1
    most = int(os.environ.get("LOKY_MAX_CPU_COUNT", cores))
    with contextlib.suppress(AttributeError, NotImplementedError):  # not everywhere
        most = min(most, len(os.sched_getaffinity(0)))
    return max(1, min(cores, most, _quota(cores)))


def _quota(cores: int) -> int:
    """Return how many of so many cores the container may use at once."""
    found = _words(_QUOTA)
    if len(found) != 2:
        found = _words(_OLD_QUOTA)
    try:
        quota, period = map(int, found)
    except ValueError:  # none, or `max`
        return cores
    return math.ceil(quota / period) if quota > 0 and period > 0 else cores


def _words(names: tuple[str, ...]) -> list[str]:
    """Return the words in files of cgroups; none if a file does not exist."""
    try:
        texts = [Path(_CGROUPS, name).read_text() for name in names]
    except OSError:
        return []
    return " ".join(texts).split()


def clamp_workers(workers: int) -> int:
    if workers <= _UNCHECKED_WORKERS:
        return workers
    most = max(_UNCHECKED_WORKERS, _MAX_WORKERS_PER_CORE * usable_cores())
    if workers > most:
        warn(
            HintedMessage(
                f"using {most} workers instead of {workers}: more than "
                f"{_MAX_WORKERS_PER_CORE} per core only slow a run down; ",
                Hint.WORKER_PER_CORE,
            ),
            SlowerRunWarning,
        )
    return min(workers, most)
