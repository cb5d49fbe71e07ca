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

_without_guard: list[int] = []  # the soft limits that were there before each guard


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
    _without_guard.append(soft)
    try:
        yield
    finally:
        _without_guard.pop()
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def unguarded() -> Generator[None]:
    """Lift the guard that is around this; what the block keeps is not counted."""
    before = _size() if _without_guard else None
    if before is None or resource is None:
        yield
        return
    bound, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = _without_guard[-1]
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        bound += max(0, (_size() or before) - before)
        if most != resource.RLIM_INFINITY:
            bound = min(bound, most)
        resource.setrlimit(resource.RLIMIT_AS, (bound, hard))


def _size() -> int | None:
    try:
        with open(_STATM, "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None
