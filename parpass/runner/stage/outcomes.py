"""What became of the functions of a stage: of all of them, in little room.

Of most functions there is nothing to tell but how they came out, and how long passes
took on them. Only what said something, or failed, is kept as it was told; of the others
there are a few bytes each, since a module may have a hundred thousand of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence

from parpass.runner.travel.function_outcome import ANYONE, End, FunctionOutcome
from parpass.runner.travel.retained import Held


class StageOutcomes:
    """The outcomes of a stage's functions, by index; they come in any order.

    Args:
        names: The names of all functions, in module order.
        steps: How many passes the stage has.

    Attributes:
        names: The names.
        held: How functions came out; None for those that have not been run.
        seconds: Of all passes together, for each function.
        step_seconds: Of all functions together, for each pass.
        told: The outcomes of those that said something, or ended early.
        end: Where the stage ends, as far as is known.
        doubted: The functions, by index, that are not taken to keep their signatures.
    """

    def __init__(self, names: Sequence[str], steps: int) -> None:
        self.names = names
        self.held: list[Held | None] = [None] * len(names)
        self.seconds = array("d", bytes(8 * len(names)))
        self.step_seconds = [0.0] * steps
        self.told: dict[int, FunctionOutcome] = {}
        self.doubted: set[int] = set()
        self.end = End(steps - 1)
        self._steps = steps
        self._resigned: set[int] = set()  # they came to state another signature
        self._relied_on: dict[int, Collection[int]] = {}
        self._cut_short = bytearray(len(names))

    def put(self, function: int, held: Held, outcome: FunctionOutcome) -> None:
        """Take down how a function came out, instead of what was known of it."""
        self.held[function] = held
        total = 0.0
        for at, seconds in enumerate(outcome.seconds):
            self.step_seconds[at] += seconds
            total += seconds
        self.seconds[function] = total
        if outcome.said or outcome.failure is not None:
            self.told[function] = outcome
        else:
            self.told.pop(function, None)
        end = outcome.end(function)
        if end is not None:
            self.end = min(self.end, end)
        self._cut_short[function] = end is None and len(outcome.seconds) < self._steps
        self._relied_on.pop(function, None)
        if outcome.relied_on:
            self._relied_on[function] = outcome.relied_on
        if outcome.has_new_signature:
            self._resigned.add(function)

    def by_name(self) -> dict[str, Held]:
        """Return how all functions came out, by name and in module order."""
        pairs = zip(self.names, self.held, strict=True)
        return {name: held for name, held in pairs if held is not None}

    def told_in_order(self) -> list[tuple[int, FunctionOutcome]]:
        """Return what there is to tell, in module order."""
        return sorted(self.told.items())

    def doubted_names(self) -> list[str]:
        """Return the functions that are not taken to keep their signatures."""
        return [self.names[at] for at in sorted(self.doubted)]

    def doubt(self) -> bool:
        """Have functions run again that relied on what did not hold.

        At first those that relied on functions which came to state another signature;
        these are doubted from then on. If thereby others come to do so, it is for all
        that rely on them, directly or not, lest a chain of calls be gone through link
        by link. Nothing is doubted after that which is not doubted by then.

        Returns:
            Whether there are any.
        """
        suspects = self._resigned - self.doubted
        if not suspects:
            return False
        relying = self._relying_on(suspects)
        while self.doubted and not relying <= suspects:
            suspects |= relying
            relying = self._relying_on(suspects)
        self.doubted |= suspects
        self._forget(relying)
        return bool(relying)

    def _relying_on(self, suspects: set[int]) -> set[int]:
        return {
            function
            for function, relied_on in self._relied_on.items()
            if ANYONE in relied_on or not suspects.isdisjoint(relied_on)
        }

    def _forget(self, functions: set[int]) -> None:
        """Forget how functions came out.

        They may not fail any more. Then those that did not go further because of a
        failure run again as well.
        """
        ended = [self.told[at] for at in functions if at in self.told]
        if any(outcome.ended_early for outcome in ended):
            functions = functions | {
                at for at, cut in enumerate(self._cut_short) if cut
            }
        for at in functions:
            self.held[at] = None
            self._relied_on.pop(at, None)
            self.told.pop(at, None)
        ends = [outcome.end(at) for at, outcome in self.told.items()]
        self.end = min([end for end in ends if end], default=End(self._steps - 1))

    def missing_names(self) -> list[str]:
        """Return the names of the functions that have not been run."""
        return [self.names[at] for at in self.missing()]

    def missing(self) -> list[int]:
        """Return the functions that have not been run, in module order."""
        return [at for at, held in enumerate(self.held) if held is None]
