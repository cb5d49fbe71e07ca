"""Where jobs run: the protocol that executors implement."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from typing import Literal, Protocol

# Constants are folded with one native thread everywhere, so that results are equal to
# the bit, and so that W workers of W threads each do not fight for W cores.
ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",  # of what is written in Rust
)
OF_WORKERS = ("PYTHONHASHSEED", *ONE_THREAD)  # what workers have in their environment

START_SECONDS = 60.0  # for a worker to start, and to load what a stage needs, at most


class Executor(Protocol):
    """A pool of workers that run jobs, for one run or for several at once.

    What becomes of one job is no concern of the others: a worker that dies, or is
    killed, takes the job with it that it was running, and no other.

    The methods are called from several threads. Only `submit` and `end` are called on
    event loops, so these two do not wait for anything.

    Workers see the folder of a run, and jobs only name what is in it. An executor whose
    workers do not brings it to them.

    One whose workers are on other machines has a method `ask_where`, as
    `runner.travel.notes.Notes` has: it returns where workers are that hang.

    One whose jobs cost milliseconds has an attribute `least_job_seconds`: jobs that are
    expected to take less are put together, even where workers have nothing to do.
    """

    @property
    def workers(self) -> int:
        """How many jobs run at once."""
        ...

    @property
    def is_warm(self) -> bool:
        """Whether workers have been started."""
        ...

    def start(self, seconds: float = START_SECONDS) -> None:
        """Have all workers started, and do not wait for it.

        Args:
            seconds: How long one may take until it begins.

        Raises:
            RuntimeUseError: The executor is closed.
        """
        ...

    def submit(
        self, run: Callable[[bytes], bytes], job: bytes, seconds: float = math.inf
    ) -> Future[bytes]:
        """Have a worker call `run(job)`.

        The future fails with what that raised; with `JobLostError` if the worker died;
        with `JobEndedError` if `end` or `kill` ended the job; and with `NoWorkersError`
        if no worker comes to begin.

        Args:
            run: A function that a worker can import.
            job: What it is given.
            seconds: How long that is expected to take, if anything is known.

        Raises:
            RuntimeUseError: The executor is closed.
        """
        ...

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> None:
        """End a job that was submitted: its future fails now, its worker is killed.

        Unless that is to be at once, a worker that is done with it sooner than another
        one could be started may be left to end it, and nobody hears of it.
        """
        ...

    def kill(self) -> None:
        """Kill all workers, and so end all jobs; `submit` makes new ones."""
        ...

    def close(self) -> None:
        """Let the workers finish, and end them; there will be no others."""
        ...


def environment_of_workers(hash_seed: int | None = None) -> dict[str, str]:
    """Return what workers start with in their environment, all of a program the same.

    Options that this interpreter was given (`-O`, `-X utf8`) are those of the workers.
    One hash seed for all, so that nothing depends on which worker ran; by default that
    of this process, if it is set, or 0.
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


class Asking:
    """What a pool may be besides: a thread can wait for one job by itself.

    No other thread has a part in it then; to wake one takes as long as a small job.
    """

    def expect(self) -> None:
        """Hear that a small job comes soon, so that a worker can be awake by then.

        Nothing is promised by that: it may never come.
        """

    def ask(self, run: Callable[[bytes], bytes], job: bytes) -> bytes | None:
        """Have a worker call `run(job)`, and wait for it; None if it went wrong.

        If this is interrupted the job is ended.

        Raises:
            RuntimeUseError: The pool is closed.
        """
        raise NotImplementedError


class JobLostError(Exception):
    """The worker that ran a job died.

    Args:
        cause: How it ended, as `SIGSEGV(-11)`.
        process: Its number.
        host_died: Whether it went with its host, which is the machine, or what ran the
            worker there. Where hosts are many some die, and not of what they ran.
    """

    def __init__(self, cause: str, process: int, *, host_died: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.process = process
        self.host_died = host_died


def was_killed(cause: str) -> bool:
    """Return whether a worker that ended was killed, mostly by the system or a user.

    It can do it itself; but then it does it for ever.
    """
    return cause.startswith(("SIGKILL", "SIGTERM"))


class JobEndedError(Exception):
    """A job was ended on purpose."""


class NoWorkersError(Exception):
    """No worker comes to begin with a job.

    Args:
        why: Whether processes cannot be had, so that work is to be done without them,
            or end, or hang, for which there may be a reason in what they load.
        cause: What is known of it.
    """

    def __init__(self, why: Literal["none", "end", "hang"], cause: str) -> None:
        super().__init__(cause)
        self.why = why
        self.cause = cause
