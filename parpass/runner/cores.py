"""The number of cores for workers, and whether this system supports workers."""

from __future__ import annotations

import signal

from parpass.errors import Hint, HintedMessage, SlowerRunWarning
from parpass.errors.warning import warn
from parpass.fork_safety import forks_wait
from parpass.runner.ipc.file_lock import HAS_LOCKS

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
    of its container, or `LOKY_MAX_CPU_COUNT` says so.

    Raises:
        RuntimeError: Called at exit, and loky was not imported before.
    """
    with forks_wait():
        import loky  # imported late: it takes longer than a run that needs no workers

    return loky.cpu_count()


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
