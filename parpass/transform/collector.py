"""A rest for the garbage collector while many objects are made that all stay alive."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Generator

_resting = 0
_was_enabled = False
_lock = threading.Lock()


@contextlib.contextmanager
def resting_collector() -> Generator[None]:
    """Pause the garbage collector while many objects are made that all stay alive.

    It would go through all of them again and again: of decoding a large module that
    takes three quarters of the time, of a pass a third. Several threads may be in here
    at once. Keep it short: nothing is collected in the whole process meanwhile.
    """
    global _resting, _was_enabled
    with _lock:
        if _resting == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _resting += 1
    try:
        yield
    finally:
        with _lock:
            _resting -= 1
            if _resting == 0 and _was_enabled:
                gc.enable()
