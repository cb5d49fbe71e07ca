"""A rest for the garbage collector while many objects are made that all stay alive."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Generator

# Objects made, less those freed, between two collections of the young: 700 by default.
# Garbage with cycles of so many objects takes some ten megabytes until it is found.
_SELDOM = 100_000
# Collections of the middle generation between two of everything: 10 by default. Each
# of those goes through all objects of the process, a second for ten million.
_FULL_SELDOM = 30

_resting = 0
_before = (0, 0, 0)
_lock = threading.Lock()


@contextlib.contextmanager
def resting_collector() -> Generator[None]:
    """Have the garbage collector look for cycles seldom.

    It would go through all objects again and again: of decoding a large module that
    takes three quarters of the time, of a pass a third. The setting is the process's;
    several threads may be in here at once, and the last one restores it.
    """
    global _resting, _before
    with _lock:
        if _resting == 0:
            _before = gc.get_threshold()
            if 0 < _before[0] < _SELDOM:
                gc.set_threshold(_SELDOM, _before[1], max(_before[2], _FULL_SELDOM))
        _resting += 1
    try:
        yield
    finally:
        with _lock:
            _resting -= 1
            if _resting == 0:
                gc.set_threshold(*_before)
