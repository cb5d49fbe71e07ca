"""Progress of a stage, for display only; it never affects results.

This module is apart so that `watching_progress`, which is called on event loops, does
not import what runs need.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import NamedTuple


class Progress(NamedTuple):
    """A function that workers have finished.

    Attributes:
        function: The name of the function.
        seconds: The time that the passes of the stage took on it.
        done: How many functions are finished, including this one.
        functions: How many functions there are.
    """

    function: str
    seconds: float
    done: int
    functions: int


PROGRESS_CALLBACK: ContextVar[Callable[[Progress], object] | None] = ContextVar(
    "parpass_progress", default=None
)


@contextlib.contextmanager
def watching_progress(watcher: Callable[[Progress], object]) -> Generator[None]:
    """Call a function for each function that workers finish, in runs in the block.

    It is called as results arrive, in any order, from any thread, and again for a
    function that runs again. It is not called for functions that run in this process.

    Args:
        watcher: The function to call.
    """
    token = PROGRESS_CALLBACK.set(watcher)
    try:
        yield
    finally:
        PROGRESS_CALLBACK.reset(token)
