"""A short pause of the garbage collector while functions are packed or unpacked."""

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
# function's, of milliseconds even where that is large, or some small ones', for no
# longer than a large one's; and after it the collector is what it was, with all that it
# knew. How often it looks at all there is depends on how often it looks at what is new,
# so that there are some in a pause saves the more the more there is.
LONGEST_PAUSE_SECONDS = 0.005  # for small functions
paused_collector = SharedChange(_pause)
