"""Ends a worker that hangs where nobody looks on."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
from collections.abc import Generator

_LONGEST = 1e8  # seconds; systems know none that are much longer


@contextlib.contextmanager
def ending_after(seconds: float) -> Generator[None]:
    """Have this process end if the block takes longer, in Python or in C.

    That takes a few microseconds; a thread that watches would take a hundred.

    Args:
        seconds: How long it may take; infinite for no limit. There is none either in
            another thread than the main one, and on systems without such an alarm.
    """
    is_main = threading.current_thread() is threading.main_thread()
    can = is_main and hasattr(signal, "setitimer")
    if not can or seconds == math.inf:
        yield
        return
    before = signal.getsignal(signal.SIGALRM)
    is_changed = before is not signal.SIG_DFL
    if is_changed:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, min(max(seconds, 1e-6), _LONGEST))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if is_changed and before is not None:
            signal.signal(signal.SIGALRM, before)
