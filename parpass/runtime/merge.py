"""Putting outcomes together into what the serial run would have said.

Outcomes come function by function and in any order; the serial run goes pass by pass,
and within a pass in module order. It ends at the first pass in which a function failed
or reported an error. Whatever came after that, in its order, never happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from parpass.diagnostic import Diagnostic
from parpass.errors import attach_others
from parpass.runtime.stage import FunctionOutcome
from parpass.transform import Pass
from parpass.transform.emission import Emission
from parpass.transform.plan import StepRecord
from parpass.transform.record import has_error


def merged_records(
    steps: Sequence[Pass], names: Sequence[str], outcomes: Mapping[str, FunctionOutcome]
) -> list[StepRecord]:
    """Return one record for each pass up to the one that ends the run, if any does."""
    ends = [len(o.steps) for o in outcomes.values() if o.ended_early]
    return [
        _merged_step(at, steps[at], names, outcomes)
        for at in range(min(ends, default=len(steps)))
    ]


def _merged_step(
    at: int,
    step: Pass,
    names: Sequence[str],
    outcomes: Mapping[str, FunctionOutcome],
) -> StepRecord:
    said: list[Diagnostic] = []
    emissions: list[Emission] = []
    counted: Counter[str] = Counter()
    seconds = 0.0
    failure: Exception | None = None
    function: str | None = None
    for name in names:
        outcome = outcomes[name]
        part = outcome.steps[at]
        if part.diagnostics:
            said.extend(part.diagnostics)
            if function is None and has_error(part.diagnostics):
                function = name
        if part.emissions:
            emissions.extend(part.emissions)
        if part.counters:
            counted.update(part.counters)
        seconds += part.seconds
        if outcome.failure is not None and at == len(outcome.steps) - 1:
            failure, function = outcome.failure, name
            break
    if failure is not None:
        attach_others(failure, _failures(at, names, outcomes))
    return StepRecord(
        step.info.name, said, counted or None, seconds, failure, function, emissions
    )


def _failures(
    at: int, names: Sequence[str], outcomes: Mapping[str, FunctionOutcome]
) -> list[Exception]:
    """Return what functions failed with in one step, in module order."""
    ended = [outcomes[n] for n in names if len(outcomes[n].steps) == at + 1]
    return [outcome.failure for outcome in ended if outcome.failure is not None]
