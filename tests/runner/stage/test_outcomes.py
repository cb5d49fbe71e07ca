from __future__ import annotations

from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.function_outcome import End, FunctionOutcome, Said
from parpass.runner.travel.retained import Held

NAMES = ["a", "b", "c"]
WORD = {1: Said((Diagnostic(DiagnosticLevel.NOTE, None, "word"),))}


def test_what_says_nothing_is_kept_as_how_it_came_out_and_how_long_it_took():
    outcomes = StageOutcomes(NAMES, 2)
    held = Held("made")
    outcomes.put(1, held, FunctionOutcome(None, [0.5, 0.25]))
    outcomes.put(2, held, FunctionOutcome(None, [1.0, 1.0]))
    assert outcomes.by_name() == {"b": held, "c": held}
    assert list(outcomes.seconds) == [0.0, 0.75, 2.0]
    assert outcomes.step_seconds == [1.5, 1.25]
    assert outcomes.told == {}
    assert outcomes.missing() == [0]


def test_what_there_is_to_tell_is_in_module_order():
    outcomes = StageOutcomes(NAMES, 2)
    talking = FunctionOutcome(None, [0.0, 0.0], WORD)
    failing = FunctionOutcome(None, [0.0], failure=ValueError())
    for function, outcome in (
        (2, failing),
        (1, FunctionOutcome(None, [])),
        (0, talking),
    ):
        outcomes.put(function, Held(), outcome)
    assert outcomes.told_in_order() == [(0, talking), (2, failing)]


def test_the_outcome_of_a_second_run_counts():
    outcomes = StageOutcomes(NAMES, 2)
    first = FunctionOutcome(
        None, [0.0, 0.0], WORD, looked_at_others=True, has_new_signature=True
    )
    outcomes.put(0, Held(), first)
    assert outcomes.has_new_signature
    assert list(outcomes.looked_at_others()) == [0]
    again = Held("again")
    outcomes.put(0, again, FunctionOutcome(None, [0.0, 0.0]))
    assert outcomes.told == {}
    assert outcomes.by_name() == {"a": again}


def failing(steps: int) -> FunctionOutcome:
    return FunctionOutcome(None, [0.0] * steps, failure=ValueError())


def test_the_end_is_the_first_failure_in_the_order_of_passes_and_then_of_functions():
    outcomes = StageOutcomes(NAMES, 3)
    assert [outcomes.end.steps_on(at) for at in range(3)] == [3, 3, 3]
    outcomes.put(0, Held(), failing(3))
    assert [outcomes.end.steps_on(at) for at in range(3)] == [3, 2, 2]
    outcomes.put(2, Held(), failing(2))
    assert [outcomes.end.steps_on(at) for at in range(3)] == [2, 2, 2]
    outcomes.put(1, Held(), failing(2))
    assert [outcomes.end.steps_on(at) for at in range(3)] == [2, 2, 1]


def test_a_reported_error_does_not_end_its_pass():
    said = Said((Diagnostic(DiagnosticLevel.ERROR, None, "wrong"),))
    outcomes = StageOutcomes(NAMES, 3)
    outcomes.put(0, Held(), FunctionOutcome(None, [0.0], {0: said}))
    assert [outcomes.end.steps_on(at) for at in range(3)] == [1, 1, 1]
    outcomes.put(1, Held(), failing(1))
    assert outcomes.end == End(0, 1)


def test_what_was_cut_short_by_a_failure_that_may_not_be_one_runs_again():
    outcomes = StageOutcomes(NAMES, 2)
    outcomes.put(0, Held(), FunctionOutcome(None, [0.0, 0.0]))
    failed = FunctionOutcome(None, [0.0], failure=ValueError(), looked_at_others=True)
    outcomes.put(1, Held(), failed)
    outcomes.put(2, Held(), FunctionOutcome(None, []))
    outcomes.forget_those_that_looked()
    assert outcomes.missing() == [1, 2]
    assert outcomes.end == End(1)
