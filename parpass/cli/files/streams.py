"""The standard streams, where some were closed before the command began."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator


@contextlib.contextmanager
def whole_streams() -> Generator[None]:
    """Have the command find standard streams that it may use while the block runs.

    The numbers 0 to 2 that are free are taken: a file that is opened would get them
    else, and what is written to standard error would be in it. They are only read, so
    that to write the output there is an error. What is said on a standard error that
    is closed is dropped.
    """
    missing = sys.stderr is None  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
    with contextlib.ExitStack() as stack:
        if missing or sys.stdout is None or sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
            taken = _take_free_numbers()
            stack.callback(lambda: [os.close(number) for number in taken])
        if missing:
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stderr(nowhere))
        yield


def _take_free_numbers() -> list[int]:
    taken: list[int] = []
    while (number := os.open(os.devnull, os.O_RDONLY)) <= 2:
        taken.append(number)
    os.close(number)
    return taken
