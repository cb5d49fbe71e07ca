"""The clock that instruments read.

Passes that the runner fused were run together, function by function; the hooks around
each of them are called afterwards, in the serial order. Then this clock shows the time
at which the pass would have begun or ended, by the shares of time that it took in the
workers. Otherwise it is `time.perf_counter`.
"""

from __future__ import annotations

import time
from contextvars import ContextVar

replayed: ContextVar[float | None] = ContextVar("parpass_replayed_time", default=None)


def now() -> float:
    """Return the time in seconds, of the moment that the current hook stands for."""
    moment = replayed.get()
    return time.perf_counter() if moment is None else moment
