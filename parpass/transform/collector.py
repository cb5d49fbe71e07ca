"""A rest for the garbage collector while many objects are made that all stay alive."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Generator

# Objects made, less those freed, between two collections of the young (by default 700),
# collections of the young between two of the older ones (10), and of those between two
# of all (10). Looking through the young takes some milliseconds then; looking through
# more would be a pause that is felt, of up to a second for ten million objects.
_SELDOM = (20_000, 500, 30)

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
            if 0 < _before[0] < _SELDOM[0]:
                gc.set_threshold(*_SELDOM)
        _resting += 1
    try:
        yield
    finally:
        with _lock:
            _resting -= 1
            if _resting == 0:
                _grow_old()
                gc.set_threshold(*_before)


def _grow_old() -> None:
    """Have the collector take all that is alive for old, without looking at it.

    Otherwise it would go through all that was made during the rest right after it.
    """
    if gc.isenabled() and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
