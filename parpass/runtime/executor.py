"""Where jobs run: the protocol that executors implement."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol


class Executor(Protocol):
    """A pool of processes that run jobs.

    The methods are called from one thread at a time, never from an event loop's.
    """

    @property
    def workers(self) -> int:
        """How many jobs run at once."""
        ...

    @property
    def is_warm(self) -> bool:
        """Whether the workers have been started."""
        ...

    def start(self) -> None:
        """Start the workers, if they are not running."""
        ...

    def submit(self, run: Callable[[bytes], bytes], job: bytes) -> Future[bytes]:
        """Have a worker call `run(job)`.

        A future fails with `WorkersDiedError` if the pool broke.
        """
        ...

    def kill(self) -> None:
        """Kill all workers now; `start` makes new ones."""
        ...

    def close(self) -> None:
        """Let the workers finish, and end them."""
        ...


class WorkersDiedError(Exception):
    """The pool broke: a worker died, and all jobs in flight are lost."""
