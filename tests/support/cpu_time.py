"""A limit of processor time, for what might not end."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Generator
from typing import Any


class OutOfTimeError(BaseException):
    """What was done took more processor time than it may; nothing is to catch it."""


@contextlib.contextmanager
def cpu_limit(seconds: float) -> Generator[None]:
    """Have what is done inside raise `OutOfTimeError` once it took so much.

    It counts what the process computes, so a busy machine says nothing. Only for the
    main thread, and for Python code: C code is let end.
    """

    def late(*_: Any) -> None:
        raise OutOfTimeError(f"more than {seconds} s of processor time")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def late_among(
    cells: dict[str, Any], seconds: float, *expected: type[Exception]
) -> list[str]:
    """Return the names of the calls that take more processor time than they may.

    Args:
        cells: What to call, by name.
        seconds: How much each may take.
        *expected: Errors that they may raise.
    """
    late: list[str] = []
    for name, call in cells.items():
        try:
            with cpu_limit(seconds), contextlib.suppress(*expected):
                call()
        except OutOfTimeError:
            late.append(name)
    return late
