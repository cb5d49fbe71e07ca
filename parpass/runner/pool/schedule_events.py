"""What a schedule is told, its events, and what it says, its commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FunctionsReady:
    """Event: functions, by index, are packed; `weights` estimate their costs."""

    functions: Sequence[int]
    weights: Sequence[int]


@dataclass(frozen=True, slots=True)
class JobFinished:
    """Event: a job came back, after so many seconds of work.

    `least` is how many seconds jobs are to take at least, as far as is known by now.
    """

    job: int
    seconds: float
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class JobLost:
    """Event: the worker of a job died, at work on this function, if on any.

    `killed` tells that it did not end by itself, as far as can be seen; `host_died`,
    that it was killed by the end of its host, whatever that ended of.
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
class Settled:
    """Event: what becomes of a function that is to blame: whether it runs again."""

    function: int
    again: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """Event: a serial run ends before it comes to functions after this one."""

    last: int


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Event: a job was ended that was at what a serial run does not come to."""

    job: int


@dataclass(frozen=True, slots=True)
class Recalled:
    """Event: what is in no job yet is done elsewhere, but for what is suspected."""


@dataclass(frozen=True, slots=True)
class SubmitJob:
    """Command: send these functions to a worker; `alone` while no other job runs.

    `seconds` is what they are expected to take, as far as that is known.
    """

    job: int
    functions: tuple[int, ...]
    alone: bool = False
    seconds: float = math.inf


@dataclass(frozen=True, slots=True)
class EndJob:
    """Command: end a job, of which nothing is wanted any more."""

    job: int


@dataclass(frozen=True, slots=True)
class Blame:
    """Command: settle what becomes of a function that kills workers, or hangs."""

    function: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Command: the workers die, and no function is to blame."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Command: all functions have come back, or are to blame."""


Event = (
    FunctionsReady
    | JobFinished
    | JobLost
    | DeadlinePassed
    | Settled
    | Ended
    | Overtaken
    | Recalled
)
Command = SubmitJob | EndJob | Blame | GiveUp | Finish
