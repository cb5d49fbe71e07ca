"""Fork safety: a forked child inherits no lock and no change of another thread.

`os.fork` copies the locks of a process, but only the forking thread. What another
thread holds stays locked in the child: a module that it imports, locks of libraries,
those of parpass. So there is one lock, `process_lock`, which a fork acquires, and no
thread is within `forks_wait()` then. Within it is

* what loads the parts of parpass that take long: packages at the first use of a name
  (`lazy_loader.load_module`), the runner at the first run, what workers need,
* what holds a lock of the process's for longer than a moment: LLVM's, SQLite's, that of
  the system's loader, of `tempfile`, of `multiprocessing`.

Only the fork is delayed, never a thread that enters: a thread inside may need an import
that another thread is about to start. As that may be the forking thread itself, in the
midst of an import, a fork waits for `MAX_WAIT_SECONDS` at most, and then proceeds.
The last thread that leaves lets a fork that waits come first: what the thread does next
may be an import for which no fork waits, and the fork would come in the midst of that.

A change of process-wide state that threads share is a `ProcessPatch`, which is undone
in the child.

There is a limit. A fork waits for no `import` statement inside of a function, which are
short, and only the first is more than a look at `sys.modules`; nor for other locks of
parpass. What holds those belongs to the parent: the child opens runners, pools and
caches of its own. `import` statements of the program, and its locks, are its own
responsibility.

`cached_property` is that of `functools` from Python 3.12 on, which takes no lock.
Before, it takes one for all instances of a class while a value is computed, which a
child forked meanwhile by another thread would find locked.
"""

from __future__ import annotations

# Their imports register at-fork hooks that acquire and release a lock. They come before
# our hook is registered, for two reasons. Hooks before a fork run in reverse order of
# registration, and theirs must run after ours, since threads inside may need the locks.
# And which of them run is settled when the fork begins: if a thread inside registered
# one while ours waits, the lock would be released after the fork without having been
# acquired. Of what parpass imports late, no other module has a hook before forks.
import concurrent.futures.thread
import logging
import os
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

assert concurrent.futures.thread
assert logging

MAX_WAIT_SECONDS = 10.0  # how long a fork waits at most
_HAND_OVER_SECONDS = 1.0  # how long the last thread that leaves waits for the fork

# Held for microseconds, by who changes what threads share, and by who forks. Reentrant,
# as finalizers and signal handlers may run meanwhile.
process_lock = threading.RLock()

_left = threading.Condition(process_lock)
_inside: dict[object, int] = {}  # threads within `forks_wait`, by one object an entry
_forks: dict[int, threading.Event] = {}  # set when it is over, by the thread that forks


@contextmanager
def forks_wait() -> Generator[None]:
    """Make forks of other threads wait until this one is outside again."""
    entry = object()
    try:
        with process_lock:
            _inside[entry] = get_ident()
        yield
    finally:
        try:
            _leave(entry)
        except BaseException:  # such as Ctrl-C
            _leave(entry)
            raise


def _leave(entry: object) -> None:
    me = get_ident()
    with process_lock:
        _inside.pop(entry, None)
        _left.notify_all()
        due = [
            over
            for thread, over in _forks.items()
            if me not in _forks and not _others_inside(thread)
        ]
    for over in due:
        over.wait(_HAND_OVER_SECONDS)


def _others_inside(thread: int) -> set[int]:
    return {*_inside.values()} - {thread}


def is_alone() -> bool:
    return not _others_inside(get_ident())


def before_fork() -> None:
    """Acquire the lock, once no other thread is within `forks_wait`."""
    process_lock.acquire()
    _forks.setdefault(get_ident(), threading.Event())
    _left.wait_for(is_alone, MAX_WAIT_SECONDS)


def after_in_parent() -> None:
    """Release the lock, and let those go on that have left `forks_wait`."""
    over = _forks.pop(get_ident(), None)
    process_lock.release()
    if over is not None:
        over.set()


def _after_in_child() -> None:
    _forks.clear()
    for entry, thread in [*_inside.items()]:
        if thread != get_ident():
            del _inside[entry]
    with ExitStack() as undoing:  # all of it, whatever fails
        undoing.callback(process_lock.release)
        for patch in _patches:
            undoing.callback(patch.undo_in_child)


_patches: list[ProcessPatch] = []  # all patches; they live as long as the process


class ProcessPatch:
    """A context manager, shared by threads, around a change of process-wide state.

    Its first entry makes the change by `apply`, which returns the function that undoes
    it; its last exit undoes it. In a child that is forked meanwhile the change is
    undone: the threads that would undo it do not exist there.
    """

    def __init__(self, apply: Callable[[], Callable[[], None]]) -> None:
        self._apply = apply
        self._undo: Callable[[], None] | None = None
        self._inside = 0
        _patches.append(self)

    def __enter__(self) -> None:
        with process_lock:
            self._inside += 1
            if self._inside > 1:
                return
            try:
                self._undo = self._apply()
            except BaseException:  # such as Ctrl-C
                self._inside -= 1
                raise

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        with process_lock:
            if not self._inside:  # the parent entered it before a fork
                return
            self._inside -= 1
            if not self._inside:
                self._revert()

    def undo_in_child(self) -> None:
        """Undo the change, whichever threads of the parent are inside."""
        if self._inside:
            self._inside = 0
            self._revert()

    def _revert(self) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()


if hasattr(os, "register_at_fork"):  # systems without it do not fork
    os.register_at_fork(
        before=before_fork,
        after_in_parent=after_in_parent,
        after_in_child=_after_in_child,
    )


ValueT = TypeVar("ValueT")


class cached_property(Generic[ValueT]):  # noqa: N801 -- as in functools
    """An attribute that is computed at its first access and then stored.

    Threads that access it at once may each compute a value; the last one is stored.
    """

    def __init__(self, make: Callable[[Any], ValueT]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> ValueT: ...

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Self | ValueT:
        if instance is None:
            return self
        value = self._make(instance)
        instance.__dict__[self._name] = value
        return value
