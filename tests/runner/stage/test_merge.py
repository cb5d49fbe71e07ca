from __future__ import annotations

from collections.abc import Mapping

from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.runner.stage.merge import merged_records
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.function_outcome import FunctionOutcome, Said
from parpass.runner.travel.retained import Held
from tests.support.toy_passes import Add, Keep

STEPS = [Add(), Keep()]


def says(text: str, level: DiagnosticLevel = DiagnosticLevel.NOTE) -> Diagnostic:
    return Diagnostic(level, None, text)


def step(*texts: str, count: int = 0) -> Said:
    said = tuple(says(text) for text in texts)
    return Said(said, {"n": count} if count else None)


def outcomes(
    given: Mapping[str, list[Said]], failures: Mapping[str, Exception] | None = None
) -> StageOutcomes:
    """Return outcomes that came in this order; module order is the alphabet's."""
    names = sorted(given)
    made = StageOutcomes(names, len(STEPS))
    for name, steps in given.items():
        said = {at: one for at, one in enumerate(steps) if one != Said()}
        failure = (failures or {}).get(name)
        outcome = FunctionOutcome(None, [1.0] * len(steps), said, failure)
        made.put(names.index(name), Held(), outcome)
    return made


def test_what_was_said_is_in_the_order_of_passes_and_then_of_functions():
    records = merged_records(
        STEPS,
        outcomes({"b": [step("b1"), step("b2")], "a": [step("a1"), step("a2")]}),
    )
    assert [[one.message for one in r.diagnostics] for r in records] == [
        ["a1", "b1"],
        ["a2", "b2"],
    ]
    assert [record.pass_name for record in records] == ["Add", "Keep"]


def test_counters_and_seconds_add_up():
    given = {"a": [step(count=2), step()], "b": [step(count=3), step()]}
    first, second = merged_records(STEPS, outcomes(given))
    assert (first.counters, first.seconds) == ({"n": 5}, 2.0)
    assert not second.counters


def test_the_first_failure_of_the_first_pass_that_failed_counts():
    early, late, other = ValueError("early"), ValueError("late"), ValueError("other")
    given = {"c": [step("c1")], "a": [step("a1"), step("a2")], "b": [step("b1")]}
    failures = {"a": late, "b": early, "c": other}
    (record,) = merged_records(STEPS, outcomes(given, failures))
    assert record.failure is early
    assert record.function == "b"
    assert [one.message for one in record.diagnostics] == ["a1", "b1"]


def test_a_failure_without_a_word_ends_the_run():
    failure = ValueError()
    given = {"a": [step(), step()], "b": [step()]}
    (record,) = merged_records(STEPS, outcomes(given, {"b": failure}))
    assert (record.failure, record.function) == (failure, "b")


def test_a_reported_error_ends_the_run_but_not_the_pass():
    wrong = says("wrong", DiagnosticLevel.ERROR)
    given = {"a": [Said((wrong,))], "b": [step("b1"), step("b2")]}
    (record,) = merged_records(STEPS, outcomes(given))
    assert record.failure is None
    assert record.function == "a"
    assert [one.message for one in record.diagnostics] == ["wrong", "b1"]


def test_a_module_without_functions_has_empty_records():
    records = merged_records(STEPS, outcomes({}))
    assert [record.diagnostics for record in records] == [[], []]
