"""Profiles: seconds, memory and statistics of runs, by pass and by function.

A profile is a file of JSON that `parpass opt --profile` writes and `parpass compare`
reads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from typing import Literal, TypeVar

import msgspec

from parpass.errors import ArgumentError
from parpass.instrument.profiling import copied, counted_since
from parpass.report.timeline import Category, Recorded, function_calls
from parpass.transform import PassContext
from parpass.transform.capture.pass_memory import PassMemory

VERSION = 2  # of the format; the first one had no memory

# Counters by name.
Counts = dict[str, int]
_Amount = TypeVar("_Amount", int, float)


class RunProfile(msgspec.Struct):
    """The numbers of one run of a pipeline, or of a run on each of several programs.

    Attributes:
        seconds: The time of the run.
        passes: The seconds of each pass, on all functions and cores, by its name.
        functions: The seconds of all passes on each function, by its name.
        statistics: The counters of each pass.
        function_statistics: The counters of each function, by pass, then function.
        failure: The error that ended the run, as text; None if it succeeded.
        memory: The memory of passes; None unless it was measured.
    """

    seconds: float = 0.0
    passes: dict[str, float] = msgspec.field(default_factory=dict[str, float])
    functions: dict[str, float] = msgspec.field(default_factory=dict[str, float])
    statistics: dict[str, Counts] = msgspec.field(default_factory=dict[str, Counts])
    function_statistics: dict[str, dict[str, Counts]] = msgspec.field(
        default_factory=dict[str, dict[str, Counts]]
    )
    failure: str | None = None
    memory: PassMemory | None = None

    def add(self, other: RunProfile) -> None:
        """Add the numbers of another run; memory takes the maximum."""
        self.seconds += other.seconds
        _add(self.passes, other.passes)
        _add(self.functions, other.functions)
        for name, counts in other.statistics.items():
            _add(self.statistics.setdefault(name, {}), counts)
        for name, functions in other.function_statistics.items():
            known = self.function_statistics.setdefault(name, {})
            for function, counts in functions.items():
                _add(known.setdefault(function, {}), counts)
        if other.memory is not None:
            self.memory = self.memory or PassMemory()
            self.memory.merge(other.memory)
        self.failure = self.failure or other.failure

    def add_slices(self, recorded: Recorded) -> None:
        """Add the times of a track; a sink of a `Timeline`."""
        slices = recorded.ordered_slices
        for one in slices:
            if one.category is Category.MODULE_PASS:
                _add(self.passes, {one.name: one.ended - one.began})
            elif one.category is Category.RUN:
                self.seconds += one.ended - one.began
        for pass_name, call in function_calls(slices):
            seconds = call.ended - call.began
            _add(self.passes, {pass_name: seconds})
            _add(self.functions, {call.name: seconds})


class Profile(msgspec.Struct, kw_only=True):
    """Runs of one pipeline, as they are in a file.

    `jobs` is the number of workers that was asked for; None for one per core.
    """

    kind: Literal["parpass profile"] = "parpass profile"
    version: int = VERSION
    parpass: str
    pipeline: str
    jobs: int | None
    runs: list[RunProfile]

    def encoded(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


class _Header(msgspec.Struct):
    kind: Literal["parpass profile"]
    version: int


def decoded_profile(content: bytes, name: str) -> Profile:
    """Return the profile that a file has; `name` is that of the file, for errors.

    Raises:
        ArgumentError: It is no profile, or one of another version of the format.
    """
    try:
        header = msgspec.json.decode(content, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(
            f"'{name}' is not a profile written by 'parpass opt --profile': {error}"
        ) from None
    if not 1 <= header.version <= VERSION:
        raise ArgumentError(
            f"expected a profile of version 1 to {VERSION}, got version "
            f"{header.version} in '{name}'; write it again by this version's 'parpass "
            "opt --profile'"
        )
    try:
        return msgspec.json.decode(content, type=Profile)
    except msgspec.DecodeError as error:
        raise ArgumentError(f"the profile '{name}' is damaged: {error}") from None


@contextlib.contextmanager
def profiling(context: PassContext, *, memory: bool) -> Generator[RunProfile]:
    """Measure the runs under a context in the block: what they count, and memory.

    Times are added by `RunProfile.add_slices`. The context keeps the counters of each
    function from then on.
    """
    from parpass.transform.capture.memory_meter import measuring_memory

    profile = RunProfile()
    context.keep_function_statistics()
    before = copied(context.statistics)
    functions = context.function_statistics or {}
    functions_before = {name: copied(one) for name, one in functions.items()}
    measuring = measuring_memory(context) if memory else contextlib.nullcontext()
    try:
        with measuring as profile.memory:
            yield profile
    finally:
        profile.statistics = counted_since(context.statistics, before)
        for name, counters in (context.function_statistics or {}).items():
            if counted := counted_since(counters, functions_before.get(name, {})):
                profile.function_statistics[name] = counted


def _add(amounts: dict[str, _Amount], more: Mapping[str, _Amount]) -> None:
    for name, amount in more.items():
        amounts[name] = amounts.get(name, 0) + amount
