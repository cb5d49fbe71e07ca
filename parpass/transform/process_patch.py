"""Reference-counted changes of process-wide state, shared by threads.

One of them pauses the garbage collector while functions are encoded or decoded.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from types import TracebackType

from parpass.fork_safety import acquire_at_fork

_patches: list[ProcessPatch] = []  # all patches; they live as long as the process

# One for all, so that a fork can acquire it; it is held for microseconds. Reentrant, as
# finalizers and signal handlers may run meanwhile and enter a patch.
_lock = threading.RLock()


class ProcessPatch:
    """A context manager, shared by threads: its first entry makes a change.

    Its last exit undoes it.

    In a child that is forked meanwhile the change is undone: the threads that would
    undo it do not exist there.

    Args:
        apply: Makes the change, and returns the function that undoes it.
    """

    def __init__(self, apply: Callable[[], Callable[[], None]]) -> None:
        self._apply = apply
        self._undo: Callable[[], None] | None = None
        self._inside = 0
        _patches.append(self)

    def __enter__(self) -> None:
        with _lock:
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
        with _lock:
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


def _in_child() -> None:
    for patch in _patches:
        patch.undo_in_child()


acquire_at_fork(_lock)
if hasattr(os, "register_at_fork"):  # systems without it do not fork
    os.register_at_fork(after_in_child=_in_child)


def _pause_gc() -> Callable[[], None]:
    if not gc.isenabled():
        return _do_nothing
    gc.disable()
    return gc.enable


def _do_nothing() -> None:
    pass


# While a function is decoded, all new objects stay alive, so collections free nothing:
# they take three quarters of the time of decoding many functions. The collector belongs
# to the process, and other code relies on it. So a pause is for one function, which
# takes milliseconds even if it is large, or for several small ones up to that time; the
# collector's state is unchanged after it. Full collections depend on the number of
# young ones, so several functions in a pause save the more, the more objects there are.
MAX_GC_PAUSE_SECONDS = 0.005  # for small functions
gc_paused = ProcessPatch(_pause_gc)
