"""Where jobs run: the protocol that executors implement."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Protocol

START_SECONDS = 60.0  # for a worker to start, and to load what a stage needs


class Executor(Protocol):
    """A pool of processes that run jobs, for one run or for several at once.

    The methods are called from several threads. Only `submit` is called on event loops.
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
        """Start the workers if none are running, or if the pool broke.

        Raises:
            RuntimeUseError: The executor is closed.
        """
        ...

    def submit(self, run: Callable[[bytes], bytes], job: bytes) -> Future[bytes]:
        """Have a worker call `run(job)`.

        The future fails with `WorkersDiedError` if a worker died, with
        `WorkersHangError` if none comes to begin, and with `WorkersKilledError` if
        `kill` was called, or if no workers are running.
        """
        ...

    def alone(self) -> Executor:
        """Return another pool, of one worker, on which nothing else will run."""
        ...

    def kill(self) -> None:
        """Kill all workers now; `start` makes new ones."""
        ...

    def close(self) -> None:
        """Let the workers finish, and end them; there will be no others."""
        ...


class WorkersDiedError(Exception):
    """The pool broke: a worker died, and all jobs in flight are lost.

    `processes` are those that died, if that is known: only what they were working on
    can be to blame.
    """

    def __init__(self, cause: str = "", processes: Collection[int] = ()) -> None:
        super().__init__(cause)
        self.processes = frozenset(processes)


class WorkersKilledError(Exception):
    """The workers were killed on purpose, perhaps by another run's cancellation."""


class WorkersHangError(WorkersDiedError):
    """The workers do not come to begin: all of them hang while they start."""
