"""What goes between an executor and the workers of Dask's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from parpass.runner.travel.slots import Slot


class StageAway(NamedTuple):
    """The stage of a run, as it is told on another machine.

    Attributes:
        run: A name that no other run has.
        number: The number of the stage in the run.
        functions: How many functions there are.
        spec: What its jobs have in common; None if that is taken to be there.
    """

    run: str
    number: int
    functions: int
    spec: bytes | None


class Call(NamedTuple):
    """A job on its way.

    Attributes:
        executor: Whose it is.
        number: The number of the job, of that executor.
        run: What is to be called.
        message: What it is given.
        stage: The stage that it is a part of; None if it comes whole.
        environment: What processes that run jobs have in their environment.
    """

    executor: str
    number: int
    run: Callable[[bytes], bytes]
    message: bytes
    stage: StageAway | None
    environment: dict[str, str]


class Done(NamedTuple):
    """A job was run; `answer` is for `unpack_answer`."""

    answer: bytes


class SpecWanted(NamedTuple):
    """Nothing is known of the stage there: the call is to come with its spec."""


class Lost(NamedTuple):
    """The process that ran a job died.

    Attributes:
        cause: How it ended.
        was_at: The last that it noted.
        traceback: Where it was, as `faulthandler` wrote.
    """

    cause: str
    was_at: WasAt | None
    traceback: str


class WasAt(NamedTuple):
    """What a process noted; see `notes.Work`.

    Attributes:
        values: Function, step, body, its step, phase.
        age: Nanoseconds since then; None if the time stood still. Clocks of two
            machines have nothing in common.
    """

    values: Sequence[int]
    age: int | None


class OthersOf(NamedTuple):
    """All functions of a stage, for passes that read others than their own."""

    slots: Sequence[Slot]
    content: bytes
