"""The end of the command when it is interrupted."""

from __future__ import annotations

import contextlib

INTERRUPTED = 130  # the exit code of shells for SIGINT


def ignore_interrupts() -> None:
    """Keep the exit code: another SIGINT, as the process ends, would take it away."""
    import signal  # by the command alone, as it ends

    with contextlib.suppress(ValueError):  # not the main thread
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:  # the other one came just now
            signal.signal(signal.SIGINT, signal.SIG_IGN)
