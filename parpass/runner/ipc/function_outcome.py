"""The outcome of a stage for one function, in a worker or here, and its parts.

It is what came of the passes on it: effects besides the result, a failure, and what of
the rest of the module they relied on.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from parpass.diagnostic import Diagnostic
from parpass.remark import Remark
from parpass.transform.capture.change import AnyChange, UnprintedChange
from parpass.transform.capture.emission import Emission
from parpass.transform.capture.recorder import Recorder, has_error

# Of a function and a step that killed a worker or hung: the error to raise in place of
# the call, or, if the call is to be skipped, the reason.
Verdict = BaseException | str
Verdicts = Mapping[tuple[str, int], Verdict]

ANY_FUNCTION = -1  # in place of the index of a function


class ReadKind(enum.IntEnum):
    """The kinds of reads of a module, besides the function that a pass runs on.

    The versions of other functions that it was given depend on what their passes read,
    which is included.
    """

    SIGNATURE = 0  # of a function, at the start of the stage
    FUNCTION = 1  # at the start of the stage
    NAME = 2  # whether there is such a function, and what a reference to it shows
    NAMES = 3  # the names of all functions, in order
    SHELL = 4  # what a module has besides, and passes seldom read
    EVERYTHING = 5  # more than is listed
    IMPORT = 6  # none of the module: that of one of the program's, while passes ran


class Recording(enum.IntEnum):
    """The parts of outcomes that are for a function cache."""

    NOTHING = 0
    READS = 1  # of the rest of the module
    RESULTS = 2  # and a digest of what each pass made of the function


# The kind, and the name of the function.
Read = tuple[ReadKind, str]
READ_EVERYTHING: Read = ReadKind.EVERYTHING, ""
_MAX_READS = 64  # of one function that are listed


def listed_reads(reads: Collection[Read]) -> tuple[Read, ...]:
    """Return reads in a fixed order; `READ_EVERYTHING` alone if there are many."""
    if len(reads) > _MAX_READS or READ_EVERYTHING in reads:
        return (READ_EVERYTHING,)
    return tuple(sorted(reads))


class AbandonedError(BaseException):
    """The run was cancelled while this thread worked for it; no pass or hook failed."""


class Cutoff(NamedTuple):
    """The last pass and function at which a serial run of a stage ends, if known.

    Cutoffs compare in the order of a serial run. Calls after one never happen in a
    serial run. They are not started in workers either, as they might do anything, such
    as end their process or hang.

    Attributes:
        step: The index of the last pass.
        function: The index of the last function that this pass is run on.
    """

    step: int
    function: int = sys.maxsize

    def steps_on(self, function: int) -> int:
        """Return the number of passes that run on a function, given by its index."""
        return self.step + (function <= self.function)


class Effects(msgspec.Struct, frozen=True):
    """The effects of a pass on one function besides its result.

    Attributes:
        result: The digest of the result, if that is recorded.
    """

    diagnostics: Sequence[Diagnostic] = ()
    counters: Mapping[str, int] | None = None
    emissions: Sequence[Emission] = ()
    remarks: Sequence[Remark] = ()
    changes: Sequence[AnyChange] = ()
    result: str | None = None

    @classmethod
    def of(
        cls,
        recorder: Recorder,
        emissions: Sequence[Emission] = (),
        result: str | None = None,
    ) -> Effects:
        """Return what a recorder has, with what was emitted."""
        return cls(
            recorder.diagnostics,
            recorder.counted,
            emissions,
            recorder.remarks,
            recorder.changes,
            result,
        )

    @property
    def counted(self) -> Mapping[str, int] | None:
        """The counters, as `Recorder.take_over` reads them."""
        return self.counters


NO_EFFECTS = Effects()


def with_versions(
    effects: Mapping[int, Effects], convert: Callable[[Any], Any], mod: Any
) -> Mapping[int, Effects]:
    """Return effects in which the functions of changes are converted.

    Those that are printed have none. `mod` is the module to print them with.
    """
    made = dict(effects)
    for at, one in effects.items():
        changes = [
            change._replace(
                before=convert(change.before), after=convert(change.after), mod=mod
            )
            for change in one.changes
            if isinstance(change, UnprintedChange)
        ]
        if changes:
            made[at] = msgspec.structs.replace(one, changes=changes)
    return made


if TYPE_CHECKING:
    _EffectsByStep: TypeAlias = Mapping[int, Effects]
else:  # for msgspec: outcomes in messages have none
    _EffectsByStep = Mapping[int, Any]


class FunctionOutcome(msgspec.Struct, array_like=True):
    """The outcome of a stage for one function.

    Attributes:
        function: The result; meaningless if the last step failed.
        seconds: The time of each pass that was run on it.
        effects: The effects of passes, by index of the pass; most have none.
        failure: The exception that the last of the passes raised.
        dependencies: The functions, by index, whose signatures were assumed to be those
            at the start of the stage; `ANY_FUNCTION` if they are too many to list.
        signature_changed: Whether the signature of the function changed.
        reads: The reads of the rest of the module; empty if they are not recorded.
    """

    function: Any
    seconds: Sequence[float] = ()
    effects: _EffectsByStep = {}
    failure: BaseException | None = None
    dependencies: Collection[int] = ()
    signature_changed: bool = False
    reads: Collection[Read] = ()

    @property
    def ended_early(self) -> bool:
        """Whether the last step failed, or reported an error."""
        return self.failure is not None or self._reported_error

    @property
    def _reported_error(self) -> bool:
        last = self.effects.get(len(self.seconds) - 1)
        return last is not None and has_error(last.diagnostics)

    def cutoff(self, function: int) -> Cutoff | None:
        step = len(self.seconds) - 1
        if self.failure is not None:
            return Cutoff(step, function)
        return Cutoff(step) if self._reported_error else None
