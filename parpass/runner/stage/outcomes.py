"""The outcomes of all functions of a stage, and their merge into records of passes.

A module may have a hundred thousand functions, so there are only a few bytes for each:
its handle and the time of the passes on it. Whole outcomes are kept only of functions
with effects or a failure.

A call that killed a worker, or hung, is quarantined. If the call relied on signatures
that changed, this has to be confirmed: it is made again, in a worker.

Outcomes come function by function, in any order; a serial run goes pass by pass, and
within a pass in module order. It ends at the first pass in which a function fails or
reports an error. Effects and failures after that, in its order, never happen in a
serial run, so the merge drops them.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from parpass.diagnostic import extend_error
from parpass.errors.core import add_note
from parpass.errors.failures import attach_others
from parpass.runner.ipc.function_outcome import (
    ANY_FUNCTION,
    NO_EFFECTS,
    Cutoff,
    Effects,
    FunctionOutcome,
    Read,
    Recording,
    Verdict,
    Verdicts,
)
from parpass.runner.ipc.module_store import FunctionHandle
from parpass.transform import Pass
from parpass.transform.capture.emission import Emission
from parpass.transform.capture.recorder import Recorder, has_error
from parpass.transform.plan.commands import StepRecord, describe_location


class StageOutcomes:
    """The outcomes of the functions of a stage, by index, as they arrive in any order.

    Attributes:
        names: The names of all functions, in module order.
        handles: The resulting functions; None for those that have not run.
        seconds: For each function, the time of all passes on it.
        step_seconds: For each pass, the time on all functions.
        notable: The outcomes of functions with effects or a failure.
        unstable: The functions that are not assumed to keep their signatures.
        quarantined: The calls, by function and step, that killed a worker or hung.
        cutoff: The end of the stage, as far as it is known.
        done: The number of functions that have an outcome.
        reads: The reads of the rest of the module by passes, by index of the function.
        recalled: The functions whose outcomes are of an earlier run, from a cache.
    """

    def __init__(self, names: Sequence[str], steps: int) -> None:
        self.names = names
        self.handles: list[FunctionHandle | None] = [None] * len(names)
        self.seconds = array("d", bytes(8 * len(names)))
        self.step_seconds = [0.0] * steps
        self.notable: dict[int, FunctionOutcome] = {}
        self.unstable: set[int] = set()
        self.quarantined: dict[tuple[str, int], Verdict] = {}
        self._unconfirmed: dict[tuple[str, int], Verdict] = {}
        self.cutoff = Cutoff(steps - 1)
        self._steps = steps
        self.done = 0
        self.recording = Recording.NOTHING
        self.reads: dict[int, Collection[Read]] = {}
        self.recalled: set[int] = set()
        self._changed_signatures: set[int] = set()
        self._dependencies: dict[int, Collection[int]] = {}
        self._incomplete = bytearray(len(names))

    def first(self, steps: int) -> StageOutcomes:
        """Return the outcomes of a stage of the first steps, begun anew.

        Quarantined calls are kept.
        """
        if steps == self._steps:
            return self
        shorter = StageOutcomes(self.names, steps)
        shorter.quarantined = {
            call: verdict
            for call, verdict in self.local_quarantine().items()
            if call[1] < steps
        }
        return shorter

    @property
    def is_empty(self) -> bool:
        """Whether there is neither an outcome nor a quarantined call."""
        return not (self.quarantined or any(self.handles))

    def put(
        self, function: int, handle: FunctionHandle, outcome: FunctionOutcome
    ) -> None:
        self.done += self.handles[function] is None
        self.handles[function] = handle
        total = 0.0
        for at, seconds in enumerate(outcome.seconds):
            self.step_seconds[at] += seconds
            total += seconds
        self.seconds[function] = total
        if outcome.effects or outcome.failure is not None:
            self.notable[function] = outcome
        else:
            self.notable.pop(function, None)
        cutoff = outcome.cutoff(function)
        if cutoff is not None:
            self.cutoff = min(self.cutoff, cutoff)
        is_short = len(outcome.seconds) < self._steps
        self._incomplete[function] = cutoff is None and is_short
        self._dependencies.pop(function, None)
        if outcome.dependencies:
            self._dependencies[function] = outcome.dependencies
        if outcome.reads:
            self.reads[function] = outcome.reads
        if outcome.signature_changed:
            self._changed_signatures.add(function)

    def is_complete(self, function: int) -> bool:
        """Return whether all passes ran on a function, without an error."""
        outcome = self.notable.get(function)
        ended_early = outcome is not None and outcome.ended_early
        return not (ended_early or self._incomplete[function])

    def effects_of(self, function: int) -> Mapping[int, Effects]:
        outcome = self.notable.get(function)
        return {} if outcome is None else outcome.effects

    def dependencies_of(self, function: int) -> Collection[int]:
        return self._dependencies.get(function, ())

    def has_changed_signature(self, function: int) -> bool:
        return function in self._changed_signatures

    def by_name(self) -> dict[str, FunctionHandle]:
        pairs = zip(self.names, self.handles, strict=True)
        return {name: handle for name, handle in pairs if handle is not None}

    def unstable_names(self) -> list[str]:
        return [self.names[at] for at in sorted(self.unstable)]

    def invalidate_dependents(self) -> bool:
        """Drop the outcomes of functions that relied on signatures which changed.

        The functions whose signatures changed become unstable. On the first call these
        are all. If the signatures of others change in turn, all functions that depend
        on them, directly or not, become unstable at once, so that a chain of calls is
        not followed link by link. After that, no other function becomes unstable.

        Returns:
            Whether there are functions to run again.
        """
        suspects = self._changed_signatures - self.unstable
        if not suspects:
            return False
        dependents = self._dependents_of(suspects)
        while self.unstable and not dependents <= suspects:
            suspects |= dependents
            dependents = self._dependents_of(suspects)
        self.unstable |= suspects
        self._invalidate(dependents)
        return bool(dependents)

    @property
    def needs_worker_recheck(self) -> bool:
        """Whether some quarantined calls have to be made again, in a worker."""
        return bool(self._unconfirmed)

    def mark_rechecked(self) -> None:
        """Record that workers have run all missing functions."""
        self._unconfirmed.clear()

    def local_quarantine(self) -> Verdicts:
        """Return the calls that must not be made in this process.

        Unconfirmed ones are included, since no worker may be left to make them.
        """
        return {**self._unconfirmed, **self.quarantined}

    def _dependents_of(self, suspects: set[int]) -> set[int]:
        return {
            function
            for function, dependencies in self._dependencies.items()
            if ANY_FUNCTION in dependencies or not suspects.isdisjoint(dependencies)
        }

    def _invalidate(self, functions: set[int]) -> None:
        """Drop the outcomes of functions, which then run again.

        If one of them failed, it may not fail again, so functions that were stopped
        because of a failure run again, too.
        """
        ended = [self.notable[at] for at in functions if at in self.notable]
        if any(outcome.ended_early for outcome in ended):
            functions = functions | {
                at for at, cut in enumerate(self._incomplete) if cut
            }
        for at in functions:
            self.done -= self.handles[at] is not None
            self.handles[at] = None
            self._dependencies.pop(at, None)
            self.notable.pop(at, None)
            self.reads.pop(at, None)
        self.recalled -= functions
        # Calls of the first pass rely on no assumption: no function has changed yet.
        late = [call for call in self.quarantined if functions and call[1] > 0]
        self._unconfirmed |= {call: self.quarantined.pop(call) for call in late}
        cutoffs = [outcome.cutoff(at) for at, outcome in self.notable.items()]
        whole = Cutoff(self._steps - 1)
        self.cutoff = min([one for one in cutoffs if one], default=whole)

    def missing_names(self) -> list[str]:
        return [self.names[at] for at in self.missing()]

    def missing(self) -> list[int]:
        return [at for at, handle in enumerate(self.handles) if handle is None]


_Notable = Sequence[tuple[int, FunctionOutcome]]  # by index, in module order


def merge_records(
    steps: Sequence[Pass],
    outcomes: StageOutcomes,
    *,
    with_function_counters: bool = False,
) -> list[StepRecord]:
    """Return the records of the passes, up to the one that ends the run, if any."""
    notable = sorted(outcomes.notable.items())  # in module order
    records = [
        _merge_step(at, steps[at], notable, outcomes)
        for at in range(outcomes.cutoff.step + 1)
    ]
    if with_function_counters:
        for at, record in enumerate(records):
            record.function_counters = {
                outcomes.names[index]: part.counters
                for index, outcome in notable
                if (part := outcome.effects.get(at, NO_EFFECTS)).counters
            }
    return records


def _merge_step(
    at: int, step: Pass, notable: _Notable, outcomes: StageOutcomes
) -> StepRecord:
    total, emissions = Recorder(None), list[Emission]()
    failure: BaseException | None = None
    function: str | None = None
    for index, outcome in notable:
        part = outcome.effects.get(at, NO_EFFECTS)
        if part is not NO_EFFECTS:
            if part.emissions:
                emissions += _shifted(part.emissions, total)
            total.take_over(part)
            if function is None and has_error(part.diagnostics):
                function = outcomes.names[index]
        if outcome.failure is not None and at == len(outcome.seconds) - 1:
            failure, function = outcome.failure, outcomes.names[index]
            extend_error(failure, part.diagnostics, total.diagnostics)
            attach_others(failure, _other_failures(at, step, index, notable, outcomes))
            break
    return StepRecord(
        step.info.name,
        total.diagnostics,
        total.counted,
        outcomes.step_seconds[at],
        failure,
        function,
        emissions,
        total.remarks,
        total.changes,
    )


def _shifted(emissions: Sequence[Emission], before: Recorder) -> list[Emission]:
    """Return emissions with the counts in the stage, not on the function so far."""
    return [
        replace(
            one,
            diagnostic_count=before.diagnostic_count + one.diagnostic_count,
            remark_count=before.remark_count + one.remark_count,
        )
        for one in emissions
    ]


def _other_failures(
    at: int, step: Pass, first: int, notable: _Notable, outcomes: StageOutcomes
) -> list[BaseException]:
    others: list[BaseException] = []
    for index, outcome in notable:
        failure = outcome.failure
        if index > first and failure is not None and len(outcome.seconds) == at + 1:
            add_note(failure, describe_location(step.info.name, outcomes.names[index]))
            others.append(failure)
    return others
