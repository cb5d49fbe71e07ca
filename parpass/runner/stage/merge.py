"""Putting outcomes together into what the serial run would have said.

Outcomes come function by function and in any order; the serial run goes pass by pass,
and within a pass in module order. It ends at the first pass in which a function failed
or reported an error. Whatever came after that, in its order, never happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from parpass.diagnostic import Diagnostic, tell_all
from parpass.errors import add_note, attach_others
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.function_outcome import FunctionOutcome, Said
from parpass.transform import Pass
from parpass.transform.plan.plan import StepRecord, place
from parpass.transform.saying.emission import Emission
from parpass.transform.saying.record import has_error

_SILENT = Said()
_Told = Sequence[tuple[int, FunctionOutcome]]  # by index, in module order


def merged_records(steps: Sequence[Pass], outcomes: StageOutcomes) -> list[StepRecord]:
    """Return one record for each pass up to the one that ends the run, if any does."""
    told = outcomes.told_in_order()
    return [
        _merged_step(at, steps[at], told, outcomes)
        for at in range(outcomes.end.step + 1)
    ]


def _merged_step(
    at: int, step: Pass, told: _Told, outcomes: StageOutcomes
) -> StepRecord:
    said: list[Diagnostic] = []
    emissions: list[Emission] = []
    counted: Counter[str] = Counter()
    failure: BaseException | None = None
    function: str | None = None
    for index, outcome in told:
        part = outcome.said.get(at, _SILENT)
        if part is not _SILENT:
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
            tell_all(failure, part.diagnostics, said)
            attach_others(failure, _others(at, step, index, told, outcomes))
            break
    return StepRecord(
        step.info.name,
        said,
        counted or None,
        outcomes.step_seconds[at],
        failure,
        function,
        emissions,
    )


def _others(
    at: int, step: Pass, first: int, told: _Told, outcomes: StageOutcomes
) -> list[BaseException]:
    """Return what functions after the first failed with in a step, in module order."""
    others: list[BaseException] = []
    for index, outcome in told:
        failure = outcome.failure
        if index > first and failure is not None and len(outcome.seconds) == at + 1:
            add_note(failure, place(step.info.name, outcomes.names[index]))
            others.append(failure)
    return others
