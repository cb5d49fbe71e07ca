"""At-fork and at-exit hooks of executors, and the end of what is kept between runs.

At exit, and beyond the limit of threads, no thread can be started.
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


class LifecycleHooks(Protocol):
    """The hooks that are called when this process forks, or the program exits."""

    def after_fork_in_child(self) -> None:
        """Called in a child that was forked off this process."""
        ...

    def at_program_exit(self) -> None:
        """Called at exit, after all non-daemon threads have ended."""
        ...


_registered_hooks: set[weakref.ref[LifecycleHooks]] = set()


def register_lifecycle(hooks: LifecycleHooks) -> None:
    """Register the hooks of an object, until it is garbage."""
    _register()
    _registered_hooks.add(weakref.ref(hooks, _registered_hooks.discard))


_idle_enders: list[Callable[[], None]] = []


def register_idle(end: Callable[[], None]) -> None:
    """Register what ends threads that are kept for the next run."""
    _idle_enders.append(end)


def end_idle() -> None:
    """End the threads that are kept for the next run: there is none soon."""
    for end in _idle_enders:
        end()


def run_in_thread(call: Callable[[], None]) -> threading.Thread | None:
    """Call a function in a new thread, or here if no thread can be started."""
    thread = threading.Thread(target=call, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        call()
        return None
    return thread


@functools.cache
def _register() -> None:
    # Exit functions are called last in, first out, after non-daemon threads have ended.
    # multiprocessing, which joins its processes at exit, is imported and so registered
    # before this: it runs after it.
    atexit.register(_at_exit)


def _live_hooks() -> list[LifecycleHooks]:
    # Other threads may register and drop hooks meanwhile.
    found = [reference() for reference in list(_registered_hooks)]
    return [one for one in found if one is not None]


def _after_fork() -> None:
    for one in _live_hooks():
        one.after_fork_in_child()


def _at_exit() -> None:
    for one in _live_hooks():
        with contextlib.suppress(Exception):
            one.at_program_exit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
