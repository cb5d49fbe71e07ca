"""What the program does that an executor is in: it forks, and it ends.

One that is at its end may start no threads any more, as one may not that has too many.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Protocol


class Resident(Protocol):
    """What has to know of it."""

    def leave_to_parent(self) -> None:
        """Called in a process that was forked off this one."""
        ...

    def end_with_program(self) -> None:
        """Called when all is done that the program waits for."""
        ...


_residents: set[weakref.ref[Resident]] = set()


def tell(resident: Resident) -> None:
    """Have something told, for as long as it lives."""
    _register()
    _residents.add(weakref.ref(resident, _residents.discard))


def in_thread(call: Callable[[], None]) -> None:
    """Call in a thread, and do not wait for it; here if there can be none."""
    try:
        threading.Thread(target=call, daemon=True).start()
    except RuntimeError:
        call()


def check_threads() -> None:
    """Look whether a program whose main thread has ended may still start others.

    Raises:
        RuntimeError: It may not.
    """
    if not threading.main_thread().is_alive():
        threading.Thread(target=int, daemon=True).start()


@functools.cache
def _register() -> None:
    # What is registered last is called first. Threads that a program waits for are done
    # by then; after it, multiprocessing waits for processes that were started with it:
    # it is loaded, and so registered, before anybody is to be told.
    atexit.register(_end_with_program)


def _living() -> list[Resident]:
    # Others may be made, and go, in other threads meanwhile.
    found = [reference() for reference in list(_residents)]
    return [one for one in found if one is not None]


def _after_fork() -> None:
    for one in _living():
        one.leave_to_parent()


def _end_with_program() -> None:
    for one in _living():
        with contextlib.suppress(Exception):
            one.end_with_program()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
