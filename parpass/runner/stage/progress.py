"""Tells who waits how far a stage is: for people, and never for what comes of a run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import NamedTuple


class Progress(NamedTuple):
    """A function that workers are done with.

    Attributes:
        function: Its name.
        seconds: How long the passes of the stage took on it.
        done: How many functions are done, with this one.
        functions: How many there are.
    """

    function: str
    seconds: float
    done: int
    functions: int


WATCHER: ContextVar[Callable[[Progress], object] | None] = ContextVar(
    "parpass_progress", default=None
)


@contextlib.contextmanager
def watching_progress(watcher: Callable[[Progress], object]) -> Generator[None]:
    """Have somebody told of each function that workers are done with, in runs within.

    Functions are told as they come back, in any order, from any thread; one that is run
    again is told again. What is run in this process is not told.
    """
    token = WATCHER.set(watcher)
    try:
        yield
    finally:
        WATCHER.reset(token)
