"""Whether there can be workers here, and how many cores there are for them."""

from __future__ import annotations

import signal

from parpass.runner.travel.file_lock import HAS_LOCKS


def system_has_workers() -> bool:
    """Return whether this system has what workers are watched and ended by.

    Those are locks of files and signals, as POSIX has them: who holds a lock lives, and
    what hangs is killed. Windows has neither; all runs in one process there.
    """
    return HAS_LOCKS and hasattr(signal, "SIGKILL")


def usable_cores() -> int:
    """Return how many processes can run at once here.

    That is the number of cores, or what the affinity mask of this process, the quota of
    its container, or `LOKY_MAX_CPU_COUNT` leave of them.

    Raises:
        RuntimeError: The program is at its end, and loky was not loaded before.
    """
    import loky  # who runs nothing need not wait for it

    return loky.cpu_count()
