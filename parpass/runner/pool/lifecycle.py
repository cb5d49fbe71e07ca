"""At-fork and at-exit hooks of executors, and the state that a process inherits.

At exit, and beyond the limit of threads, no thread can be started. Everything that is
not inherited at the start follows the program stage by stage (`ipc.process_state`).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from parpass.fork_safety import fork_lock

_STANDARD_STREAMS = (0, 1, 2)
_PROCESS_GETTERS = (
    *("getresuid", "getresgid", "getgroups"),  # its user
    *("getpgrp",),  # its process group, to which a terminal sends signals
)


def inherited_state() -> tuple[Any, ...]:
    """Return the state that a process started now would inherit, for comparison.

    It consists of the interpreter, the main script, the hash seed, the files of the
    standard streams, the user, the resource limits, the priority, the affinity and the
    umask.
    """
    main = sys.modules.get("__main__")
    getters = (getattr(os, name, None) for name in _PROCESS_GETTERS)
    affinity = getattr(os, "sched_getaffinity", None)
    return (
        sys.executable,
        getattr(main, "__file__", None),
        os.environ.get("PYTHONHASHSEED"),
        *map(_file_at, _STANDARD_STREAMS),
        *(getter() for getter in getters if getter is not None),
        *_resource_limits(),
        os.getpriority(os.PRIO_PROCESS, 0),
        None if affinity is None else affinity(0),
        _umask(),
    )


def _file_at(descriptor: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(descriptor)
    except OSError:  # the descriptor is closed
        return None
    return found.st_dev, found.st_ino


def _resource_limits() -> list[tuple[int, int]]:
    with fork_lock:
        import resource  # not on Windows

    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    return [resource.getrlimit(getattr(resource, name)) for name in names]


def _umask() -> bytes | None:
    """Return the line of /proc that has the umask; None on other systems.

    `os.umask` cannot read it without changing it.
    """
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as status:
        return next((line for line in status if line.startswith(b"Umask")), None)
    return None


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


def run_in_thread(call: Callable[[], None]) -> None:
    """Call a function in a new thread, or here if no thread can be started."""
    try:
        threading.Thread(target=call, daemon=True).start()
    except RuntimeError:
        call()


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
