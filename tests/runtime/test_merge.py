from __future__ import annotations

from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.runtime.merge import merged_records
from parpass.runtime.stage import FunctionOutcome, FunctionStep
from tests.support.toy_passes import Add, Keep

STEPS = [Add(), Keep()]


def says(text: str, level: DiagnosticLevel = DiagnosticLevel.NOTE) -> Diagnostic:
    return Diagnostic(level, None, text)


def step(*texts: str, count: int = 0) -> FunctionStep:
    said = tuple(says(text) for text in texts)
    return FunctionStep(1.0, said, {"n": count} if count else None)


def test_what_was_said_is_in_the_order_of_passes_and_then_of_functions():
    outcomes = {
        "b": FunctionOutcome(None, [step("b1"), step("b2")]),
        "a": FunctionOutcome(None, [step("a1"), step("a2")]),
    }
    records = merged_records(STEPS, ["a", "b"], outcomes)
    assert [[one.message for one in r.diagnostics] for r in records] == [
        ["a1", "b1"],
        ["a2", "b2"],
    ]
    assert [record.pass_name for record in records] == ["Add", "Keep"]


def test_counters_and_seconds_add_up():
    outcomes = {
        "a": FunctionOutcome(None, [step(count=2), step()]),
        "b": FunctionOutcome(None, [step(count=3), step()]),
    }
    first, second = merged_records(STEPS, ["a", "b"], outcomes)
    assert (first.counters, first.seconds) == ({"n": 5}, 2.0)
    assert not second.counters


def test_the_first_failure_of_the_first_pass_that_failed_counts():
    early, late, other = ValueError("early"), ValueError("late"), ValueError("other")
    outcomes = {
        "a": FunctionOutcome(None, [step("a1"), step("a2")], late),
        "b": FunctionOutcome(None, [step("b1")], early),
        "c": FunctionOutcome(None, [step("c1")], other),
    }
    (record,) = merged_records(STEPS, ["a", "b", "c"], outcomes)
    assert record.failure is early
    assert [one.message for one in record.diagnostics] == ["a1", "b1"]


def test_a_reported_error_ends_the_run_but_not_the_pass():
    wrong = says("wrong", DiagnosticLevel.ERROR)
    outcomes = {
        "a": FunctionOutcome(None, [FunctionStep(1.0, (wrong,))]),
        "b": FunctionOutcome(None, [step("b1"), step("b2")]),
    }
    (record,) = merged_records(STEPS, ["a", "b"], outcomes)
    assert record.failure is None
    assert [one.message for one in record.diagnostics] == ["wrong", "b1"]


def test_a_module_without_functions_has_empty_records():
    records = merged_records(STEPS, [], {})
    assert [record.diagnostics for record in records] == [[], []]
