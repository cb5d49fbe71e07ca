"""A limit on what a pass may take of memory, in a worker."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

try:
    import resource
except ImportError:  # not on Windows
    resource = None

_STATM = "/proc/self/statm"


@contextlib.contextmanager
def memory_guard(limit: int) -> Generator[None]:
    """Let this process grow by so many bytes while the block runs, and no more.

    Beyond that, allocating raises MemoryError, or fails in C. What is limited is the
    process's address space, so this is for processes that do nothing else. It does
    nothing where the system does not tell a process its size (only Linux does).
    """
    size = _size()
    if size is None or resource is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = size + limit
    if soft != resource.RLIM_INFINITY:
        bound = min(bound, soft)
    resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _size() -> int | None:
    try:
        with open(_STATM, "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None
