"""Changes of what is the process's, made for a while by several threads at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import TracebackType

_changes: list[SharedChange] = []  # all there are; they last as long as the process

# One for all, so that a fork can wait for it; it is held for microseconds. While it is,
# the collector may run finalizers, and a signal handlers, and these may come here.
_lock = threading.RLock()


class SharedChange:
    """A context manager: the first to enter makes a change, the last undoes it.

    A child that is forked meanwhile finds the change undone: the threads that would
    have done that are not there, and the one that is goes on as a program of its own.

    Args:
        make: Makes the change, and returns what undoes it.
    """

    def __init__(self, make: Callable[[], Callable[[], None]]) -> None:
        self._make = make
        self._undo: Callable[[], None] | None = None
        self._inside = 0
        _changes.append(self)

    def __enter__(self) -> None:
        with _lock:
            self._inside += 1
            if self._inside > 1:
                return
            try:
                self._undo = self._make()
            except BaseException:  # such as Ctrl-C, just then
                self._inside -= 1
                raise

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        with _lock:
            if not self._inside:  # it was entered before a fork, by the parent
                return
            self._inside -= 1
            if not self._inside:
                self._end()

    def end_in_child(self) -> None:
        """Undo the change, whoever is inside."""
        if self._inside:
            self._inside = 0
            self._end()

    def _end(self) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()


def _in_child() -> None:
    _lock.release()
    for change in _changes:
        change.end_in_child()


if hasattr(os, "register_at_fork"):  # elsewhere nothing forks
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_in_child
    )
