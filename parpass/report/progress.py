"""Progress of a run, for display only; it never affects results.

This module is apart so that `watching_progress`, which is called on event loops, does
not import what runs need.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import NamedTuple

INTERVAL_SECONDS = 0.2  # between two calls of the callback


class WorkerActivity(NamedTuple):
    """The activity of a worker, or of this process.

    Attributes:
        worker: The process id of the worker; None for the caller's process.
        pass_name: The pass; None if it is unknown or none is running, as while a worker
            starts or a function is encoded.
        function: The name of the function; None in a module pass, and at the start.
        seconds: How long it has worked on that function, in all passes of the stage.
    """

    worker: int | None
    pass_name: str | None
    function: str | None
    seconds: float


class Progress(NamedTuple):
    """The progress of a run.

    Attributes:
        stage: The number of the stage, from 1; 0 while a page is made of a recording. A
            stage is a group of passes that go through the functions together. Each
            module pass is one of its own, and in the caller's process each pass may be.
        passes: The names of the passes of the stage.
        done: The number of finished functions.
        functions: The number of functions; 0 for a module pass.
        seconds: The time since the stage began.
        eta: The estimated seconds to the end of the stage; None until a function is
            finished.
        workers: The activity of each worker that is not idle.
        slow: Those workers that have been on a function for more than 3 seconds and
            more than ten times the median of the finished functions.
        longest: The name and the seconds of the slowest finished function of the stage;
            None before the first one.
        is_last: Whether the run has ended, successfully or not.
    """

    stage: int
    passes: tuple[str, ...]
    done: int
    functions: int
    seconds: float
    eta: float | None
    workers: tuple[WorkerActivity, ...]
    slow: tuple[WorkerActivity, ...]
    longest: tuple[str, float] | None
    is_last: bool


ProgressCallback = Callable[[Progress], object]


PROGRESS_CALLBACK: ContextVar[ProgressCallback | None] = ContextVar(
    "parpass_progress", default=None
)


@contextlib.contextmanager
def watching_progress(callback: ProgressCallback) -> Generator[None]:
    """Call a callback with the progress of the runs in the block.

    Runs with a `progress=` argument are not included. `run_pipeline` says when it is
    called.

    Args:
        callback: The callback.
    """
    token = PROGRESS_CALLBACK.set(callback)
    try:
        yield
    finally:
        PROGRESS_CALLBACK.reset(token)
