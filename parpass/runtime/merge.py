"""Putting outcomes together into what the serial run would have said.

Outcomes come function by function and in any order; the serial run goes pass by pass,
and within a pass in module order. It ends at the first pass in which a function failed
or reported an error. Whatever came after that, in its order, never happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from parpass.diagnostic import Diagnostic
from parpass.errors import attach_others
from parpass.runtime.outcomes import StageOutcomes
from parpass.runtime.stage import FunctionOutcome
from parpass.transform import Pass
from parpass.transform.emission import Emission
from parpass.transform.plan import StepRecord
from parpass.transform.record import has_error

_Told = Sequence[tuple[int, FunctionOutcome]]  # by index, in module order


def merged_records(steps: Sequence[Pass], outcomes: StageOutcomes) -> list[StepRecord]:
    """Return one record for each pass up to the one that ends the run, if any does."""
    told = outcomes.told_in_order()
    ends = [len(outcome.seconds) for _, outcome in told if outcome.ended_early]
    return [
        _merged_step(at, steps[at], told, outcomes)
        for at in range(min(ends, default=len(steps)))
    ]


def _merged_step(
    at: int, step: Pass, told: _Told, outcomes: StageOutcomes
) -> StepRecord:
    said: list[Diagnostic] = []
    emissions: list[Emission] = []
    counted: Counter[str] = Counter()
    failure: Exception | None = None
    function: str | None = None
    for index, outcome in told:
        part = outcome.said.get(at)
        if part is not None:
            # Of a function they tell how many diagnostics came before, on it alone.
            emissions += [
                replace(one, said=len(said) + one.said) for one in part.emissions
            ]
            said.extend(part.diagnostics)
            counted.update(part.counters or {})
            if function is None and has_error(part.diagnostics):
                function = outcomes.names[index]
        if outcome.failure is not None and at == len(outcome.seconds) - 1:
            failure, function = outcome.failure, outcomes.names[index]
            break
    if failure is not None:
        attach_others(failure, _failures(at, told))
    return StepRecord(
        step.info.name,
        said,
        counted or None,
        outcomes.step_seconds[at],
        failure,
        function,
        emissions,
    )


def _failures(at: int, told: _Told) -> list[Exception]:
    """Return what functions failed with in one step, in module order."""
    ended = [outcome for _, outcome in told if len(outcome.seconds) == at + 1]
    return [outcome.failure for outcome in ended if outcome.failure is not None]
