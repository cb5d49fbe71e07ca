"""The events that the scheduler handles, and the commands that it returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FunctionsReady:
    """Event: functions, by index, are encoded; `weights` estimate their costs."""

    functions: Sequence[int]
    weights: Sequence[int]


@dataclass(frozen=True, slots=True)
class JobFinished:
    """Event: a job returned its result, after some seconds of work.

    `least` is the shortest job, in seconds, that the executor is to be given; `process`
    is that of the worker.
    """

    job: int
    seconds: float
    least: float = 0.0
    process: int = 0


@dataclass(frozen=True, slots=True)
class JobLost:
    """Event: the worker of a job died, while it ran this function, if any.

    `killed` is True if it was killed from outside, as far as is known; `host_died`, if
    it died with its host, for any reason.
    """

    job: int
    working_on: int | None = None
    killed: bool = False
    host_died: bool = False


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """Event: the worker of a job was killed because this function was overdue."""

    job: int
    function: int


@dataclass(frozen=True, slots=True)
class FailureResolved:
    """Event: the outcome of a function at fault is decided; `again`: it runs again.

    `may_truncate` is True if the run may end with it, which a skipped pass does not.
    """

    function: int
    again: bool
    may_truncate: bool = False


@dataclass(frozen=True, slots=True)
class Truncated:
    """Event: a serial run ends by a failure, before functions after the last one.

    It is `math.inf` if the failed pass is not the first, which runs on all functions.
    """

    last: float


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Event: these jobs were taken back without a result.

    No worker had begun them, or they ran beyond the end of a serial run.
    """

    jobs: Sequence[int]


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """Event: functions in no job run in the caller's process, except suspects."""


@dataclass(frozen=True, slots=True)
class SubmitJob:
    """Command: submit a job of these functions; `alone` while no other job runs.

    `seconds` is its expected time; infinite if not known.
    """

    job: int
    functions: tuple[int, ...]
    alone: bool = False
    seconds: float = math.inf


@dataclass(frozen=True, slots=True)
class CancelJob:
    """Command: cancel a job, since none of its results are needed."""

    job: int


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Command: withdraw the jobs that no worker has begun; answered by `Withdrawn`."""


@dataclass(frozen=True, slots=True)
class ResolveFailure:
    """Command: decide the outcome of a function that kills workers, or hangs."""

    function: int


@dataclass(frozen=True, slots=True)
class Abort:
    """Command: end the stage, since workers die and no function is at fault."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Command: end the stage, since all functions have an outcome."""


Event = (
    FunctionsReady
    | JobFinished
    | JobLost
    | DeadlinePassed
    | FailureResolved
    | Truncated
    | Withdrawn
    | Reclaimed
)
Command = SubmitJob | CancelJob | Withdraw | ResolveFailure | Abort | Finish
