"""A pause of the garbage collector while one function is packed or unpacked."""

from __future__ import annotations

import gc
from collections.abc import Callable

from parpass.transform.shared_change import SharedChange


def _pause() -> Callable[[], None]:
    if not gc.isenabled():
        return _leave
    gc.disable()
    return gc.enable


def _leave() -> None:
    pass


# While a function is unpacked all that is made stays alive, so whatever the collector
# looks at it looks at in vain: of unpacking many functions that takes three quarters of
# the time. The collector is the process's, and others rely on it. So the pause is one
# function's, of milliseconds even where that is large, and after it the collector is
# what it was, with all that it knew.
paused_collector = SharedChange(_pause)
