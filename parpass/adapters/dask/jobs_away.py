"""What goes between an executor and the workers of Dask's."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self

from parpass.runner.travel.folder import Ref
from parpass.runner.travel.notes import Work
from parpass.runner.travel.slots import Slot


class StageAway(NamedTuple):
    """The stage of a run, as it is told on another machine.

    Attributes:
        run: A name that no other run has.
        number: The number of the stage in the run.
        functions: How many functions there are.
        spec: The digest of what its jobs have in common.
    """

    run: str
    number: int
    functions: int
    spec: str


class ValueAway(NamedTuple):
    """A large value of a run: where workers expect it, and its digest."""

    ref: Ref
    digest: str


class Call(NamedTuple):
    """A job on its way.

    Attributes:
        executor: Whose it is.
        number: The number of the job, of that executor.
        run: What is to be called.
        message: What it is given.
        stage: The stage that it is a part of; None if it comes whole.
        values: Large values of its functions that are to be there when it begins.
        parts: What is needed of a spec and values, by digest, but for what is taken to
            be there.
        environment: What processes that run jobs have in their environment.
    """

    executor: str
    number: int
    run: Callable[[bytes], bytes]
    message: bytes
    stage: StageAway | None
    values: Sequence[ValueAway]
    parts: Mapping[str, bytes]
    environment: Mapping[str, str]


class Piece(NamedTuple):
    """What was added to a file of large values, and where that begins."""

    file: str
    offset: int
    content: bytes


class Done(NamedTuple):
    """A job was run.

    Attributes:
        answer: For `unpack_answer`.
        pieces: Large values that it made.
        seconds: What it took there, without the way.
    """

    answer: bytes
    pieces: Sequence[Piece]
    seconds: float


class PartsWanted(NamedTuple):
    """What a call takes to be there is not: it is to come with all of its parts."""


class Lost(NamedTuple):
    """The process that ran a job died.

    Attributes:
        cause: How it ended.
        was_at: The last that it noted.
        traceback: Where it was, as `faulthandler` wrote.
        host_died: Whether the worker of Dask's died, and it with that.
    """

    cause: str
    was_at: WasAt | None
    traceback: str
    host_died: bool = False


Answer = Done | PartsWanted | Lost


class WasAt(NamedTuple):
    """What a process noted; see `notes.Work`.

    Attributes:
        values: Function, step, body, its step, phase.
        age: Nanoseconds since then; None if the time stood still. Clocks of two
            machines have nothing in common.
    """

    values: Sequence[int]
    age: int | None

    @classmethod
    def of(cls, work: Work) -> Self:
        """Return what a process is at now, by its note."""
        age = time.monotonic_ns() - work.since if work.since else None
        return cls([*map(int, work[:5])], age)


class OthersOf(NamedTuple):
    """All functions of a stage, for passes that read others than their own."""

    slots: Sequence[Slot]
    content: bytes
