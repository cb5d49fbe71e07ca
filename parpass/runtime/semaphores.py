"""Semaphores between processes that have no names, so that nothing of them can be left.

The locks of `multiprocessing`, and loky's, are opened by name. A name outlives a
program that is killed before it could remove it, and the process that is to remove it
then tells so on the user's terminal. These lie in memory that only the processes of a
pool map, by a file descriptor that they inherit; they are gone with the last of them.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import mmap
import os
import sys
import weakref
from collections.abc import Callable
from multiprocessing.context import assert_spawning, get_spawning_popen
from typing import Any, cast

_SLOT = 64  # bytes for each, a line of the cache; a `sem_t` takes 32 at most
_COUNTING = 1  # what `multiprocessing` calls the kind of semaphore that all these are
_NAME = "parpass-semaphores"  # seen in /proc only


class Semaphores:
    """The semaphores of one pool.

    Raises:
        OSError: The system gives no memory to share.
    """

    def __init__(self) -> None:
        self._page = _new_page()
        self._used = 0

    def new(self, value: int, most: int) -> Semaphore:
        """Return a new one."""
        if self._used + _SLOT > mmap.PAGESIZE:
            self._page, self._used = _new_page(), 0
        at, self._used = self._used, self._used + _SLOT
        self._page.begin(at, value)
        return Semaphore(self._page, at, most)


class Semaphore:
    """Looks like those of `multiprocessing`, and is pickled only to start a process.

    Args:
        page: Where it lies.
        at: The place there.
        most: It cannot be released beyond this.
    """

    def __init__(self, page: _Page, at: int, most: int) -> None:
        self._place = page, at, most
        # Without a name the handle is taken as it is: an address. It is closed at the
        # end, which does nothing for one that was not opened.
        kind: Any = importlib.import_module("_multiprocessing").SemLock
        rebuild = kind._rebuild  # noqa: SLF001 -- there is no other constructor
        self._semlock: Any = rebuild(page.address + at, _COUNTING, most, None)
        self.acquire: Callable[..., bool] = self._semlock.acquire
        self.release: Callable[[], None] = self._semlock.release

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *failure: object) -> None:
        self.release()

    def __reduce__(self) -> tuple[Any, ...]:
        assert_spawning(cast("Any", self))
        return Semaphore, self._place


class _Page:
    """A page of shared memory; takes the file descriptor that it is given."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        whole = mmap.mmap(descriptor, mmap.PAGESIZE)
        self._bytes = (ctypes.c_char * mmap.PAGESIZE).from_buffer(whole)
        self.address = ctypes.addressof(self._bytes)

    def begin(self, at: int, value: int) -> None:
        """Make a semaphore at some place."""
        shared = 1  # between processes
        if ctypes.CDLL(None, use_errno=True).sem_init(
            ctypes.c_void_p(self.address + at), shared, ctypes.c_uint(value)
        ):
            raise OSError(ctypes.get_errno(), "a semaphore could not be made")

    def __reduce__(self) -> tuple[Any, ...]:
        popen: Any = get_spawning_popen()
        return _Page, (popen.duplicate_for_child(self._descriptor),)


def _new_page() -> _Page:
    descriptor = os.memfd_create(_NAME)
    os.truncate(descriptor, mmap.PAGESIZE)
    return _Page(descriptor)


def new_semaphores() -> Semaphores | None:
    """Return semaphores for a pool; None where only those with names are to be had."""
    # Elsewhere it is not known that closing what was not opened does nothing.
    if sys.platform != "linux" or not _has_glibc():
        return None
    with contextlib.suppress(OSError):
        return Semaphores()
    return None


def _has_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError):
        return False
