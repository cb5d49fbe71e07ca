"""Fork safety: a forked child inherits no lock and no change of another thread.

`os.fork` copies the locks of a process, but only the forking thread. A lock that
another thread holds stays locked in the child: import locks, locks of libraries, those
of parpass. So code that holds one for longer than a moment runs within
`with fork_lock:`, and an at-fork hook waits until no other thread is inside (Go's
`syscall.ForkLock`).

* Modules that are imported late are imported inside; `tests/test_imports.py` checks it.
* So is code that takes a lock of the standard library that no at-fork hook releases in
  the child, such as that of `tempfile`.
* Mutual exclusion uses a `ForkSafeLock`.
* Other locks, held for microseconds, are registered by `acquire_at_fork`.

A change of process-wide state that threads share is a `ProcessPatch`, which is undone
in the child.

Only the fork is delayed, never a thread that enters: a thread inside may need an import
that another thread is about to start. As that may be the forking thread itself, in the
midst of an import, a fork waits for `MAX_WAIT_SECONDS` at most, and then proceeds.

Concurrent `import` statements and forks in different threads of the program remain its
own responsibility; `import parpass` loads nearly nothing.

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
import time
from collections.abc import Callable
from threading import get_ident
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, overload

assert concurrent.futures.thread
assert logging

MAX_WAIT_SECONDS = 10.0  # how long a fork waits at most
_RETRY_SECONDS = 0.01  # between attempts to acquire all registered locks at once


class Lock(Protocol):
    """The interface of the locks of `threading`, as `acquire_at_fork` takes them."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire the lock; return whether that succeeded."""
        ...

    def release(self) -> None:
        """Release the lock."""
        ...


class _ForkLock:
    """A reentrant context manager that counts the threads inside; forks wait for them.

    Attributes:
        lock: Held while a thread enters or exits, and by the thread that forks.
            Reentrant, as finalizers and signal handlers may enter.
        changed: Notified when a thread exits or a `ForkSafeLock` is released.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self._inside: dict[int, int] = {}  # depth by thread
        self._registered: list[Lock] = []
        self._held: list[Lock] = []

    def __enter__(self) -> None:
        before = self.depth()
        try:
            self.set_depth(before + 1)
        except BaseException:  # such as Ctrl-C: `__exit__` is not called then
            self.set_depth(before)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        left = max(0, self.depth() - 1)
        try:
            self.set_depth(left)
        except BaseException:
            self.set_depth(left)
            raise

    def depth(self) -> int:
        """Return how often this thread is inside; no other thread changes that."""
        return self._inside.get(get_ident(), 0)

    def set_depth(self, depth: int) -> None:
        """Set how often this thread is inside."""
        with self.lock:
            if depth:
                self._inside[get_ident()] = depth
            else:
                self._inside.pop(get_ident(), None)
                self.changed.notify_all()

    def register(self, lock: Lock) -> None:
        self._registered.append(lock)

    def before_fork(self) -> None:
        self.lock.acquire()
        until = time.monotonic() + MAX_WAIT_SECONDS
        while (left := until - time.monotonic()) > 0:
            if self._has_other_holders():
                self.changed.wait(left)
            elif self._acquire_registered():
                return
            else:
                self.changed.wait(_RETRY_SECONDS)
        self._acquire_registered()  # holders of these hold them for microseconds only

    def _has_other_holders(self) -> bool:
        return bool(self._inside.keys() - {get_ident()})

    def _acquire_registered(self) -> bool:
        """Acquire all registered locks, or none; return whether that succeeded."""
        for lock in self._registered:
            if not lock.acquire(timeout=_RETRY_SECONDS):
                self._release_held()  # its holder may be about to enter
                return False
            self._held.append(lock)
        return True

    def _release_held(self) -> None:
        while self._held:
            self._held.pop().release()

    def after_in_parent(self) -> None:
        self._release_held()
        self.lock.release()

    def after_in_child(self) -> None:
        self._release_held()
        for thread in self._inside.keys() - {get_ident()}:
            del self._inside[thread]
        # The old ones have waiters and an owner that do not exist in this process.
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)


class ForkSafeLock:
    """A reentrant lock, a context manager, that forks wait for: free in each child."""

    def __init__(self) -> None:
        self._owner: tuple[int, int] | None = None  # process and thread
        self._depth = 0

    def __enter__(self) -> None:
        me = os.getpid(), get_ident()
        inside = fork_lock.depth()
        depth: int | None = None
        try:
            with fork_lock.lock:
                # An owner in the parent does not exist here, if a fork did not wait.
                while (owner := self._owner) not in (None, me) and owner[0] == me[0]:
                    fork_lock.changed.wait()
                depth = self._depth if owner == me else 0
                self._set_owner(me, depth + 1)
                fork_lock.set_depth(inside + 1)
        except BaseException:  # such as Ctrl-C: `__exit__` is not called then
            with fork_lock.lock:
                if depth is not None:
                    self._set_owner(me, depth)
                fork_lock.set_depth(inside)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with fork_lock.lock:
            self._set_owner(self._owner, self._depth - 1)
            fork_lock.__exit__()

    def _set_owner(self, owner: tuple[int, int] | None, depth: int) -> None:
        """Set the owner and its depth; called with `fork_lock.lock` held."""
        self._owner, self._depth = (owner, depth) if depth > 0 else (None, 0)
        if self._owner is None:
            fork_lock.changed.notify_all()


def acquire_at_fork(lock: Lock) -> None:
    """Register a lock that is acquired before each fork and released after it.

    It is released in the parent and in the child.

    Args:
        lock: A lock that lives as long as the process and is held for microseconds. It
            must be reentrant if finalizers or signal handlers may acquire it.
    """
    fork_lock.register(lock)


fork_lock = _ForkLock()

_patches: list[ProcessPatch] = []  # all patches; they live as long as the process

# One for all, so that a fork can acquire it; it is held for microseconds. Reentrant, as
# finalizers and signal handlers may run meanwhile and enter a patch.
_patch_lock = threading.RLock()


class ProcessPatch:
    """A context manager, shared by threads, around a change of process-wide state.

    Its first entry makes the change, its last exit undoes it. In a child that is forked
    meanwhile the change is undone: the threads that would undo it do not exist there.

    Args:
        apply: Makes the change, and returns the function that undoes it.
    """

    def __init__(self, apply: Callable[[], Callable[[], None]]) -> None:
        self._apply = apply
        self._undo: Callable[[], None] | None = None
        self._inside = 0
        _patches.append(self)

    def __enter__(self) -> None:
        with _patch_lock:
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
        with _patch_lock:
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


acquire_at_fork(_patch_lock)


def _after_in_child() -> None:
    fork_lock.after_in_child()  # before the patches, whose lock it releases
    for patch in _patches:
        patch.undo_in_child()


if hasattr(os, "register_at_fork"):  # systems without it do not fork
    os.register_at_fork(
        before=fork_lock.before_fork,
        after_in_parent=fork_lock.after_in_parent,
        after_in_child=_after_in_child,
    )


ValueT = TypeVar("ValueT")


class cached_property(Generic[ValueT]):  # noqa: N801 -- as in functools
    """An attribute that is computed at its first access and then stored.

    Threads that access it at once may each compute a value; the last one is stored.

    Args:
        make: Computes the value from the instance.
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
