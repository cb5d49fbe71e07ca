"""Locks on files, which tell whether the process that holds one is alive.

A lock belongs to the open file description: the system releases it with the last
descriptor, also when the process is killed. This module is apart from `shared_dir`
since starting a worker loads it first, and it loads next to nothing.
"""

from __future__ import annotations

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
