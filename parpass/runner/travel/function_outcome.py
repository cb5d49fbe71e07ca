"""What becomes of a function in a stage, and where a stage ends because of it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from parpass.diagnostic import Diagnostic
from parpass.transform.saying.emission import Emission
from parpass.transform.saying.record import has_error

# What is known of pairs of function and step that killed workers or hung: the error
# that it is, or, where it is to be skipped, why.
Verdict = BaseException | str
Verdicts = Mapping[tuple[str, int], Verdict]

ANYONE = -1  # in place of the index of a function


class AbandonedError(BaseException):
    """Nobody waits for what goes on here any more: no pass or hook has failed."""


class End(NamedTuple):
    """Where a stage ends in the order of a serial run, as far as is known.

    Ends compare by that order. What comes after one never happens in a serial run; so
    it is not begun, since it could do anything: end its process, say, or hang.

    Attributes:
        step: The index of the last pass.
        function: The index of the last function that it is run on.
    """

    step: int
    function: int = sys.maxsize

    def steps_on(self, function: int) -> int:
        """Return how many passes are run on a function."""
        return self.step + (function <= self.function)


class Said(msgspec.Struct, frozen=True):
    """What one pass said, counted, and logged on one function."""

    diagnostics: Sequence[Diagnostic] = ()
    counters: Mapping[str, int] | None = None
    emissions: Sequence[Emission] = ()


class FunctionOutcome(msgspec.Struct):
    """What became of one function in a stage.

    Attributes:
        function: The result; of no use if the last step failed.
        seconds: Of each pass that was run on it.
        said: What passes said, by their index; most say nothing.
        failure: What the last of them raised.
        relied_on: The functions, by index, of which it was taken that they state what
            they stated when the stage began; `ANYONE` where they are too many to tell.
        has_new_signature: Whether the function came to state another signature.
    """

    function: Any
    seconds: Sequence[float] = ()
    said: Mapping[int, Said] = {}
    failure: BaseException | None = None
    relied_on: Collection[int] = ()
    has_new_signature: bool = False

    @property
    def ended_early(self) -> bool:
        """Whether the last step failed, or reported an error: it ends the run."""
        return self.failure is not None or self._reported_error

    @property
    def _reported_error(self) -> bool:
        last = self.said.get(len(self.seconds) - 1)
        return last is not None and has_error(last.diagnostics)

    def end(self, function: int) -> End | None:
        """Return where it ends the stage, as the outcome of a function; None if not."""
        step = len(self.seconds) - 1
        if self.failure is not None:
            return End(step, function)
        return End(step) if self._reported_error else None
