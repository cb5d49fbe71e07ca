"""The end of an interrupted command."""

from __future__ import annotations

import contextlib

INTERRUPTED = 130  # the exit code of shells for SIGINT


def ignore_interrupts() -> None:
    """Ignore further SIGINTs, which would change the exit code as the process ends."""
    import signal  # by the command alone, as it ends

    with contextlib.suppress(ValueError):  # not the main thread
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:  # the other one came just now
            signal.signal(signal.SIGINT, signal.SIG_IGN)
