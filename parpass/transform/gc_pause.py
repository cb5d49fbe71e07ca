"""Pauses of the garbage collector, for the time of one function."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from parpass.fork_safety import ProcessPatch

_T = TypeVar("_T")


def _pause_gc() -> Callable[[], None]:
    if not gc.isenabled():
        return _do_nothing
    gc.disable()
    return _resume_gc


class _Tracked:
    """An object that the collector keeps track of, and none that is made again."""


def _resume_gc() -> None:
    gc.enable()
    # A collection that is due begins as an object is made. The next pause may begin
    # before the interpreter itself has made one.
    _Tracked()


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


@contextmanager
def in_gc_pauses(items: Iterable[_T]) -> Generator[Iterator[_T]]:
    """Give items while garbage collection is paused, each time for a limited time.

    Then the collector traverses what is made of them once for each pause, and not
    after each item. The last pause ends with the block, also where that raises.
    """
    paused = _in_pauses(items)
    try:
        yield paused
    finally:
        paused.close()


def _in_pauses(items: Iterable[_T]) -> Generator[_T]:
    waiting, may_wait = iter(items), True
    while may_wait:
        until, may_wait = time.perf_counter() + MAX_GC_PAUSE_SECONDS, False
        with gc_paused:
            for item in waiting:
                yield item
                if time.perf_counter() > until:
                    may_wait = True
                    break
