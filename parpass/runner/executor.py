"""The executor protocol: where jobs run."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Literal, Protocol

# Constants are folded with one native thread in every process, so that results are
# equal to the bit, and W workers do not run W threads each on W cores.
ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",  # of libraries written in Rust
)
WORKER_VARIABLES = ("PYTHONHASHSEED", *ONE_THREAD)  # set for workers

DEFAULT_START_SECONDS = 60.0  # limit for a worker to start, and to load a stage


class Executor(Protocol):
    """A pool of workers that run jobs, for one run or several concurrent ones.

    Jobs are independent: a worker that dies, or is killed, loses the job that it was
    running, and no other.

    The methods are called from several threads. Only `submit` and `end` are called on
    event loops, so they must not block.

    Jobs name files in the directory of their run. An executor whose workers do not see
    this directory transfers the files.

    An executor with workers on other machines has a method `dump_tracebacks`, like that
    of `runner.ipc.status_board.StatusBoard`: it returns the tracebacks of workers that
    hang.

    An executor with a queue has a method `withdraw(answer)`: it removes a job that is
    not assigned to a worker, without completing its future, and returns whether it did.
    It is called on event loops, too. Without it, queued jobs run before more urgent
    ones after a pass has failed: the error of a function that hangs is found later, by
    the time limit of a function.

    An executor whose jobs have an overhead of milliseconds has an attribute
    `least_job_seconds`: functions are grouped into jobs of at least this expected time,
    even if workers are idle.
    """

    @property
    def workers(self) -> int:
        """The number of jobs that run at once."""
        ...

    @property
    def is_warm(self) -> bool:
        """Whether workers have been started."""
        ...

    def start(self, seconds: float = DEFAULT_START_SECONDS) -> None:
        """Start all workers, without waiting for them.

        Args:
            seconds: The time limit for a worker to be ready.

        Raises:
            RuntimeUseError: The executor is closed.
        """
        ...

    def submit(
        self, run: Callable[[bytes], bytes], job: bytes, seconds: float = math.inf
    ) -> Future[bytes]:
        """Submit a call of `run(job)` in a worker; return the future of its result.

        The future fails with the exception that the call raised; with `JobLostError` if
        the worker died; with `JobCancelledError` if `end` or `kill` cancelled the job;
        and with `NoWorkersError` if no worker can be started.

        Args:
            run: A function that a worker can import.
            job: The argument of the call.
            seconds: The expected time of the call; infinite if not known.

        Raises:
            RuntimeUseError: The executor is closed.
        """
        ...

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> None:
        """Cancel a job: its future fails now, its worker is killed.

        Args:
            answer: The future of the job.
            at_once: Whether the worker must be killed. If not, it may finish a job that
                takes less time than starting another worker; the result is dropped.
        """
        ...

    def kill(self) -> None:
        """Kill all workers, which cancels all jobs; `submit` starts new ones."""
        ...

    def close(self) -> None:
        """Let workers finish their jobs, and end them; no more jobs are accepted."""
        ...


def worker_env(hash_seed: int | None = None) -> dict[str, str]:
    """Return the variables that workers have set in their environment.

    Options of this interpreter (`-O`, `-X utf8`) are options of the workers. All have
    one hash seed, so that no result depends on which worker ran a function:
    `hash_seed`; by default that of this process if it is set, else 0.
    """
    seed = os.environ.get("PYTHONHASHSEED", "random")
    if hash_seed is not None:
        seed = str(hash_seed)
    env = {"PYTHONHASHSEED": seed if seed.isdecimal() else "0"}
    return env | dict.fromkeys(ONE_THREAD, "1") | _interpreter_options()


def _interpreter_options() -> dict[str, str]:
    flags = sys.flags
    return {
        "PYTHONOPTIMIZE": str(flags.optimize),
        "PYTHONUTF8": str(flags.utf8_mode),
        "PYTHONDEVMODE": "1" if flags.dev_mode else "",
        "PYTHONWARNDEFAULTENCODING": "1" if flags.warn_default_encoding else "",
    }


class DirectExecutor:
    """Base class of executors in which a thread can wait for one job by itself.

    No other thread takes part, since waking one takes as long as a small job.
    """

    def wake_worker(self) -> None:
        """Announce a small job, so that a worker is awake when it arrives."""

    def submit_and_wait(
        self, run: Callable[[bytes], bytes], job: bytes
    ) -> bytes | None:
        """Run `run(job)` in a worker and wait; return its result, None if it failed.

        If this is interrupted, the job is cancelled.

        Raises:
            RuntimeUseError: The executor is closed.
        """
        raise NotImplementedError


async def submit_and_wait(
    executor: Executor,
    run: Callable[[bytes], bytes],
    job: bytes,
    wait: Callable[[Future[Any]], Awaitable[None]],
) -> bytes | None:
    """Return the result of `run(job)` in a worker; None if it failed.

    Args:
        executor: The executor.
        run: A function that a worker can import.
        job: The argument of the call.
        wait: Waits for the future; if it is interrupted the job is cancelled.
    """
    answer = executor.submit(run, job)
    try:
        await wait(answer)
    finally:
        if not answer.done():
            executor.end(answer)
    return None if answer.exception() is not None else answer.result()


class JobLostError(Exception):
    """The worker that ran a job died.

    Args:
        cause: How it ended, such as `SIGSEGV(-11)`.
        process: Its process ID.
        host_died: Whether it died with its host: the machine, or the process that ran
            the worker there. With many hosts some die for reasons of their own.
    """

    def __init__(self, cause: str, process: int, *, host_died: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.process = process
        self.host_died = host_died


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
        why: "none" if no process can be created, so that the work is to be done without
            workers; "end" or "hang" if processes end, or hang, before they are ready,
            for which the modules that they import may be the reason.
        cause: How the last process ended, or the error.
    """

    def __init__(self, why: Literal["none", "end", "hang"], cause: str) -> None:
        super().__init__(cause)
        self.why = why
        self.cause = cause
