"""Locks on files: who holds one lives, since the system takes them from the dead.

They belong to the open file, so they go with its last descriptor.
"""

from __future__ import annotations

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

HAS_LOCKS = fcntl is not None


def lock(file: int) -> None:
    """Hold an open file's lock alone, from now on.

    Raises:
        OSError: Another process holds it, or there are no locks there.
    """
    if fcntl is None:
        raise OSError("this system has no locks that end with their process")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(file: int) -> bool:
    """Return whether another process holds the lock of an open file."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False
