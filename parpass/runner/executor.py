"""The abstract class of executors: where jobs run."""

from __future__ import annotations

import contextlib
import math
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # workers begin with this module
    from parpass.runner.ipc.shared_dir import KeptDirectories
    from parpass.runner.ipc.status_board import Status

DEFAULT_START_SECONDS = 60.0  # limit for a worker to start, and to load a stage


class Executor(ABC):
    """A pool of workers that run jobs, for one run or several concurrent ones.

    Jobs are independent: a worker that dies or is killed loses only the job that it was
    running.

    A subclass must define `workers`, `submit` and `end`. The other members are optional
    abilities; their defaults suit an executor without them.

    Methods are called from several threads. `submit`, `end` and `withdraw` must not
    block: the run does nothing else meanwhile.

    Jobs name files in the directory of their run. If the workers do not see this
    directory, the executor must transfer the files.

    A run does not close its executor; close it where you opened it.
    """

    @property
    @abstractmethod
    def workers(self) -> int:
        """The number of jobs that run at once."""

    @abstractmethod
    def submit(
        self,
        run: Callable[[bytes], bytes],
        job: bytes,
        seconds: float = math.inf,
        *,
        owner: object = None,
    ) -> Future[bytes]:
        """Submit a call of `run(job)` in a worker; return the future of its result.

        The future fails with the exception that the call raised, with `JobLostError` if
        the worker died, with `JobCancelledError` if `end` cancelled the job, or with
        `NoWorkersError` if no worker can be started.

        Args:
            run: A function that a worker can import.
            job: The argument of the call.
            seconds: The expected time of the call; infinite if unknown.
            owner: The run that the job belongs to: the same object for all of its jobs.
                An executor that runs share gives each run as many workers as it can.

        Raises:
            RuntimeUseError: The executor is closed.
        """

    @abstractmethod
    def end(self, answer: Future[bytes], *, at_once: bool = False) -> bool | None:
        """Cancel a job: its future fails at once, and its worker is killed.

        A job that has ended by then is left alone, with its worker. Return False in
        this case: the worker is still watched.

        Args:
            answer: The future of the job.
            at_once: Whether the worker must be killed. If False, the worker may finish
                a job that takes less time than starting another worker; the result is
                dropped.
        """

    @property
    def is_warm(self) -> bool:
        """Whether workers have been started; by default always True."""
        return True

    @property
    def least_job_seconds(self) -> float:
        """The minimum expected time of a job, in seconds; by default 0.

        If a job has an overhead of milliseconds, functions are grouped into jobs of at
        least this time, even if workers are idle.
        """
        return 0.0

    @property
    def directories(self) -> KeptDirectories | None:
        """The shared directories that successive runs reuse; by default None.

        An executor on this machine may keep directories, so that small runs need not
        create one. By default each run has a directory of its own.
        """
        return None

    def start(  # noqa: B027 -- by default there is nothing to start
        self, seconds: float = DEFAULT_START_SECONDS
    ) -> None:
        """Start all workers, without waiting for them; by default a no-op.

        Args:
            seconds: The time limit for a worker to be ready.

        Raises:
            RuntimeUseError: The executor is closed.
        """

    def withdraw(self, answer: Future[bytes]) -> bool:
        """Remove a job that no worker has begun; return whether it was removed.

        Its future is not completed. The default removes nothing. Then, after a pass has
        failed, queued jobs run before more urgent ones, and a function that hangs is
        found later, by its time limit.
        """
        del answer
        return False

    def dump_tracebacks(self, works: Collection[Status]) -> dict[str, str] | None:
        """Return the tracebacks of workers that hang, by owner of the slot.

        The default, None, is for workers on this machine, which are asked by a signal.
        """
        del works
        return None


class JobLostError(Exception):
    """The worker that ran a job died.

    Args:
        cause: How it ended, such as `SIGSEGV(-11)`.
        process: Its process ID.
        host_died: Whether it died with its host: the machine, or the process there that
            ran the worker. Among many hosts, some die for reasons of their own.
    """

    def __init__(self, cause: str, process: int, *, host_died: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.process = process
        self.host_died = host_died


def exit_cause(code: int) -> str:
    """Return the cause of a process's end, such as `SIGSEGV(-11)` or `EXIT(1)`.

    Args:
        code: Its exit code; the number of a signal that ended it is below 0.
    """
    with contextlib.suppress(ValueError):  # not of a signal, or of one without a name
        return f"{signal.Signals(-code).name}({code})"
    return f"EXIT({code})"


def was_killed(cause: str) -> bool:
    """Return whether a worker that ended was killed, mostly by the system or a user.

    A worker that kills itself with the same signal does so at each attempt.
    """
    return cause.startswith(("SIGKILL", "SIGTERM"))


class JobCancelledError(Exception):
    """A job was cancelled."""


class NoWorkersError(Exception):
    """No worker can be started.

    Args:
        why: "none" if no process can be created, so that the work must run without
            workers; "end" or "hang" if processes end or hang before they are ready,
            possibly because of the modules that they import.
        cause: How the last process ended, or the error.
    """

    def __init__(self, why: Literal["none", "end", "hang"], cause: str) -> None:
        super().__init__(why, cause)  # pickled with both, by clusters
        self.why = why
        self.cause = cause

    def __str__(self) -> str:
        return self.cause
