"""The limit: independent processes, which share nothing and send nothing back."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

# Given a part and the number of parts: that part's module, and what runs the passes.
Share = Callable[[int, int], tuple[Any, Callable[[Any], object]]]


class Limit:
    """Processes that each run the same passes on their own share of the functions.

    They make their functions, and run once, before any clock starts.

    Args:
        share: Makes the share of a process; a function of a module, as it travels.
        workers: How many processes.
    """

    def __init__(self, share: Share, workers: int) -> None:
        spawn = multiprocessing.get_context("spawn")
        pipes = [spawn.Pipe() for _ in range(workers)]
        self._connections = [here for here, _ in pipes]
        self._processes = [
            spawn.Process(target=_work, args=(there, share, part, workers))
            for part, (_, there) in enumerate(pipes)
        ]
        for process in self._processes:
            process.start()
        for connection in self._connections:
            connection.recv()

    def seconds(self) -> float:
        """Have all run their share; return the time from first begin to last end."""
        for connection in self._connections:
            connection.send(True)
        spans = [connection.recv() for connection in self._connections]
        return max(end for _, end in spans) - min(begin for begin, _ in spans)

    def close(self) -> None:
        """End the processes."""
        for connection in self._connections:
            connection.send(False)
        for process in self._processes:
            process.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _work(
    connection: Connection[object, bool], share: Share, part: int, parts: int
) -> None:
    mod, run = share(part, parts)
    run(mod)
    connection.send("ready")
    while connection.recv():
        began = time.monotonic()
        made = run(mod)
        connection.send((began, time.monotonic()))
        del made
