"""What became of the functions of a stage: of all of them, in little room.

Of most functions there is nothing to tell but how they came out, and how long passes
took on them. Only what said something, or failed, is kept as it was told; of the others
there are a few bytes each, since a module may have a hundred thousand of them.

What killed a worker, or hung, is known of a body as it was run: on what it was told of
other functions, which were taken to keep their signatures. Where one did not, that is
found out again, in a worker.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from parpass.runner.stage.progress import WATCHER, Progress
from parpass.runner.travel.function_outcome import (
    ANYONE,
    End,
    FunctionOutcome,
    Verdict,
    Verdicts,
)
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
        begun: What came of the first pass on functions, by index, that it has been run
            on in this process; what it logged there was heard as it ran.
        verdicts: What is known of bodies that kill workers, or hang.
    """

    def __init__(self, names: Sequence[str], steps: int) -> None:
        self.names = names
        self.held: list[Held | None] = [None] * len(names)
        self.seconds = array("d", bytes(8 * len(names)))
        self.step_seconds = [0.0] * steps
        self.told: dict[int, FunctionOutcome] = {}
        self.doubted: set[int] = set()
        self.begun: Mapping[int, FunctionOutcome] = {}
        self.verdicts: dict[tuple[str, int], Verdict] = {}
        self._in_question: dict[tuple[str, int], Verdict] = {}
        self.end = End(steps - 1)
        self._steps = steps
        self._watcher = WATCHER.get()
        self._done = 0
        self._resigned: set[int] = set()  # they came to state another signature
        self._relied_on: dict[int, Collection[int]] = {}
        self._cut_short = bytearray(len(names))

    def first(self, steps: int) -> StageOutcomes:
        """Return what is known of a stage of so many of the steps, begun anew."""
        if steps == self._steps:
            return self
        made = StageOutcomes(self.names, steps)
        made.begun = self.begun
        known = {**self._in_question, **self.verdicts}
        made.verdicts = {body: one for body, one in known.items() if body[1] < steps}
        return made

    @property
    def is_new(self) -> bool:
        """Whether nothing is known yet."""
        return not (self.begun or self.verdicts or any(self.held))

    def put(self, function: int, held: Held, outcome: FunctionOutcome) -> None:
        """Take down how a function came out, instead of what was known of it."""
        if function in self.begun and 0 in outcome.said:
            heard = replace(outcome.said[0], emissions=())
            outcome.said = {**outcome.said, 0: heard}
        self._done += self.held[function] is None
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
        if self._watcher is not None:
            name, functions = self.names[function], len(self.names)
            self._watcher(Progress(name, total, self._done, functions))

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

    @property
    def must_be_asked(self) -> bool:
        """Whether workers are to find out again what bodies do that killed some."""
        return bool(self._in_question)

    def have_been_asked(self) -> None:
        """Take down that workers have run all that was missing."""
        self._in_question.clear()

    def verdicts_here(self) -> Verdicts:
        """Return of which bodies it is known in this process that they must not run.

        Those in question, too: where no worker can be asked any more, none is called.
        """
        return {**self._in_question, **self.verdicts}

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
            self._done -= self.held[at] is not None
            self.held[at] = None
            self._relied_on.pop(at, None)
            self.told.pop(at, None)
        # When the first pass begins all functions are as they were.
        late = [body for body in self.verdicts if functions and body[1] > 0]
        self._in_question |= {body: self.verdicts.pop(body) for body in late}
        ends = [outcome.end(at) for at, outcome in self.told.items()]
        self.end = min([end for end in ends if end], default=End(self._steps - 1))

    def missing_names(self) -> list[str]:
        """Return the names of the functions that have not been run."""
        return [self.names[at] for at in self.missing()]

    def missing(self) -> list[int]:
        """Return the functions that have not been run, in module order."""
        return [at for at, held in enumerate(self.held) if held is None]
