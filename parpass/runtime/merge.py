"""Putting outcomes together into what the serial run would have said.

Outcomes come function by function and in any order; the serial run goes pass by pass,
and within a pass in module order. It ends at the first pass in which a function failed
or reported an error. Whatever came after that, in its order, never happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parpass.runtime.stage import FunctionOutcome
from parpass.transform import Pass
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
    record = StepRecord(step.info.name)
    for name in names:
        outcome = outcomes[name]
        part = outcome.steps[at]
        record.diagnostics.extend(part.diagnostics)
        record.counters.update(part.counters or {})
        record.seconds += part.seconds
        if record.function is None and has_error(part.diagnostics):
            record.function = name
        if outcome.failure is not None and at == len(outcome.steps) - 1:
            record.failure, record.function = outcome.failure, name
            break
    return record
