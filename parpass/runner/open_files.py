"""Open files: what one is of, and locks, which tell whether their process is alive.

A lock belongs to the open file description: the system releases it with the last
descriptor, also when the process is killed. This module is apart from `shared_dir`
since starting a worker loads it first, and it loads next to nothing.
"""

from __future__ import annotations

import os

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

HAS_LOCKS = fcntl is not None


def lock_file(file: int) -> None:
    """Lock an open file exclusively, without blocking, until it is closed.

    Raises:
        OSError: Another process holds the lock, or the file system has no locks.
    """
    if fcntl is None:
        raise OSError("this system lacks locks that end with their process")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(file: int) -> bool:
    """Return whether another process holds the lock; True on systems without locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def file_at(descriptor: int) -> tuple[int, int] | None:
    """Return what tells an open file from all others; None if none is open there."""
    try:
        found = os.fstat(descriptor)
    except OSError:  # the descriptor is closed
        return None
    return found.st_dev, found.st_ino
