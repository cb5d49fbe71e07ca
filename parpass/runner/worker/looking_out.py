"""Looking out for a message that is about to come, instead of sleeping until then."""

from __future__ import annotations

import os
import select
import time

SOON_SECONDS = 0.0005  # as long as a small job and its answer are looked out for
_SOMEBODY_ELSE_SECONDS = 0.00005  # a core that nobody else wants is back sooner


def is_soon_readable(waiting: select.poll, seconds: float = SOON_SECONDS) -> bool:
    """Return whether there is something to read, at once or within so many seconds.

    A thread that sleeps is woken late, by a core that sleeps as well, and then finds
    little of what it works with in the caches. That costs more than a small job. Who
    else wants this core is let go first, and then it is no use to look out any longer.
    """
    until = time.perf_counter() + seconds
    while not waiting.poll(0):
        before = time.perf_counter()
        os.sched_yield()
        now = time.perf_counter()
        if now >= until or now - before > _SOMEBODY_ELSE_SECONDS:
            return bool(waiting.poll(0))
    return True
