"""The limits of a pass on one function: all that there is to know of each, in a table.

A limit has one name: the attribute of a pass, the keyword of the functions that run
pipelines, the option of a context behind `parpass.`, and, with dashes, the flag of
commands. What one more limit takes: a row of `LIMITS`, an attribute of `PassLimits`,
and the keyword in the public signatures, which `help` shows. All else follows from the
table. Tests hold signatures, attributes and table together.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Protocol, TextIO

from parpass.errors import FunctionFailure, FunctionTimeoutError, MemoryLimitError
from parpass.resource_limits import (
    Timer,
    exit_with_traceback_after,
    interrupt_after,
    lift_memory_limit,
    limit_memory,
)

Guard = Callable[[Any], AbstractContextManager[None]]


class Work(Protocol):
    """The work of a worker, as the watchdog sees it."""

    @property
    def owner(self) -> str: ...
    @property
    def process(self) -> int: ...
    @property
    def since(self) -> int: ...


class NewError(Protocol):
    def __call__(
        self, *, pass_name: str, function: str, limit: Any, reason: str
    ) -> FunctionFailure: ...


class Limit(NamedTuple):
    """A limit of a pass on one function.

    Attributes:
        name: Its name, everywhere.
        unit: The unit that it is given in.
        flag_help: The help text of the flag of commands.
        reason: The event of exceeding it, in words; `{}` is for the limit.
        new_error: Makes the error of a body that exceeds it.
        in_worker: The block around a body in a worker process; None for nothing.
        here: The block around a body in a process that may be interrupted; what ends
            the body is an error, or shows by the clock.
        or_exit: The block that ends the process, with a traceback in a file, if the
            body exceeds what nothing can interrupt; None for nothing.
        lifted: The block, in that of `in_worker`, for work that is not the body's own.
        clock: What is read of the thread before and after a body, wherever it runs: it
            has exceeded the limit if it took more. None where only a block tells.
        raised: What the body raises if a block stops it, without a clock.
        watched: Makes what the watchdog asks regularly, and kills the worker by: how
            many seconds of the limit a worker's work has taken by now, a time in
            nanoseconds of the monotonic clock. None for a limit that the worker holds
            alone.
    """

    name: str
    unit: Literal["seconds", "bytes"]
    flag_help: str
    reason: str
    new_error: NewError
    in_worker: Guard | None = None
    here: Guard | None = None
    or_exit: Callable[[float, TextIO], AbstractContextManager[None]] | None = None
    lifted: Callable[[], AbstractContextManager[None]] | None = None
    clock: Callable[[], float] | None = None
    raised: type[Exception] | None = None
    watched: Callable[[], Callable[[Work, int], float]] | None = None

    @property
    def option(self) -> str:
        return f"parpass.{self.name}"

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    def error(self, pass_name: str, function: str, limit: Any) -> FunctionFailure:
        text = f"{limit:g} s" if self.unit == "seconds" else f"{limit:,} bytes"
        return self.new_error(
            pass_name=pass_name,
            function=function,
            limit=limit,
            reason=self.reason.format(f"its {self.name} of {text}"),
        )

    @property
    def type(self) -> type[float] | type[int]:
        return float if self.unit == "seconds" else int


def _elapsed(work: Work, now: int) -> float:
    return (now - work.since) / 1e9


# Other threads of this process are none of the body's, as far as can be known.
_PROCESSOR = Timer("ITIMER_PROF", "SIGPROF", time.thread_time)


class _ProcessorSeconds:
    """The time of the processor that workers' main threads take, where bodies run.

    It counts from when a work was first seen, so a worker is killed late, never early.
    Unknown, and so 0, on systems without `/proc` and for workers on other machines:
    there a body has exceeded its limit when it ends.
    """

    def __init__(self) -> None:
        self._first: dict[str, tuple[Work, float]] = {}  # by owner

    def __call__(self, work: Work, now: int) -> float:
        del now
        seconds = _main_thread_seconds(work.process)
        if seconds is None:
            return 0.0
        seen, before = self._first.get(work.owner, (None, 0.0))
        if seen == work:
            return seconds - before
        self._first[work.owner] = work, seconds
        return 0.0


def _main_thread_seconds(process: int) -> float | None:
    if process == os.getpid():  # its bodies run in other threads
        return None
    try:
        with open(f"/proc/{process}/task/{process}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


LIMITS = (
    Limit(
        "function_timeout",
        "seconds",
        "Time limit for a pass on one function; its worker is then killed.",
        "it took longer than {}",
        FunctionTimeoutError,
        here=interrupt_after,
        or_exit=exit_with_traceback_after,
        clock=time.perf_counter,
        watched=lambda: _elapsed,
    ),
    Limit(
        "cpu_limit",
        "seconds",
        "CPU time limit for a pass on one function; its worker is then killed.",
        "it took more CPU time than {}",
        FunctionTimeoutError,
        here=functools.partial(interrupt_after, timer=_PROCESSOR),
        clock=_PROCESSOR.clock,
        watched=_ProcessorSeconds,
    ),
    Limit(
        "memory_limit",
        "bytes",
        "Memory limit for a pass on one function, such as 512M or 2G.",
        "it took more memory than {}",
        MemoryLimitError,
        in_worker=limit_memory,
        here=limit_memory,
        lifted=lift_memory_limit,
        raised=MemoryError,
    ),
)


class PassLimits:
    """The limits as a pass says them; None for what the call or the context says.

    Set by a class or on an instance.
    """

    function_timeout: float | None = None
    cpu_limit: float | None = None
    memory_limit: int | None = None
