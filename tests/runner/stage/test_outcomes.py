from __future__ import annotations

from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.function_outcome import (
    ANYONE,
    End,
    FunctionOutcome,
    Said,
)
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
    outcomes.put(0, Held(), FunctionOutcome(None, [0.0, 0.0], WORD))
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


def relying(*on: int, failed: bool = False, is_new: bool = False) -> FunctionOutcome:
    """Return what came of a function that relied on others to keep their signatures."""
    failure = ValueError() if failed else None
    return FunctionOutcome(
        None, [0.0], failure=failure, relied_on=on, has_new_signature=is_new
    )


def settled(*outcomes: FunctionOutcome) -> StageOutcomes:
    made = StageOutcomes([f"f{at}" for at in range(len(outcomes))], 1)
    for at, outcome in enumerate(outcomes):
        made.put(at, Held(), outcome)
    return made


def test_while_signatures_are_kept_nothing_runs_again():
    outcomes = settled(relying(1), relying(0))
    assert not outcomes.doubt()
    assert outcomes.missing() == []


def test_who_relied_on_a_signature_that_was_not_kept_runs_again_and_nobody_else():
    outcomes = settled(
        relying(is_new=True), relying(0), relying(1), relying(), relying(3, 0)
    )
    assert outcomes.doubt()
    assert outcomes.missing() == [1, 4]
    assert outcomes.doubted_names() == ["f0"]


def test_who_relied_on_any_runs_again():
    outcomes = settled(relying(is_new=True), relying(ANYONE), relying(2))
    assert outcomes.doubt()
    assert outcomes.missing() == [1]


def test_who_runs_again_and_keeps_its_signature_has_nobody_run_again():
    outcomes = settled(relying(is_new=True), relying(0), relying(1))
    outcomes.doubt()
    outcomes.put(1, Held(), relying())
    assert not outcomes.doubt()
    assert outcomes.missing() == []


def test_a_chain_of_changed_signatures_is_settled_in_one_more_turn():
    chain = [relying(is_new=True), *[relying(at) for at in range(9)]]
    outcomes = settled(*chain, relying())
    assert outcomes.doubt()
    assert outcomes.missing() == [1]
    outcomes.put(1, Held(), relying(is_new=True))
    assert outcomes.doubt()
    assert outcomes.missing() == [2, 3, 4, 5, 6, 7, 8, 9]
    for at in outcomes.missing():
        outcomes.put(at, Held(), relying(is_new=True))
    assert not outcomes.doubt()


def test_what_was_cut_short_by_a_failure_that_may_not_be_one_runs_again():
    outcomes = StageOutcomes(["f0", "f1", "f2", "f3"], 2)
    outcomes.put(0, Held(), FunctionOutcome(None, [0.0, 0.0], has_new_signature=True))
    outcomes.put(1, Held(), relying(0, failed=True))
    outcomes.put(2, Held(), FunctionOutcome(None, []))
    outcomes.put(3, Held(), FunctionOutcome(None, [0.0, 0.0]))
    assert outcomes.doubt()
    assert outcomes.missing() == [1, 2]
    assert outcomes.end == End(1)


def test_what_was_cut_short_by_a_failure_that_is_one_does_not_run_again():
    outcomes = StageOutcomes(["f0", "f1", "f2", "f3"], 2)
    outcomes.put(0, Held(), FunctionOutcome(None, [0.0, 0.0], has_new_signature=True))
    outcomes.put(1, Held(), relying(failed=True))
    outcomes.put(2, Held(), FunctionOutcome(None, []))
    outcomes.put(3, Held(), relying(0))
    assert outcomes.doubt()
    assert outcomes.missing() == [3]
    assert outcomes.end == End(0, 1)


def test_what_killed_a_worker_is_in_question_once_somebody_runs_again():
    outcomes = settled(relying(is_new=True), relying(ANYONE, failed=True))
    outcomes.verdicts = {("f1", 0): "it died", ("f1", 1): "it died then"}
    assert outcomes.doubt()
    assert outcomes.must_be_asked
    # When the first pass began there was nothing that could not hold.
    assert outcomes.verdicts == {("f1", 0): "it died"}
    assert outcomes.verdicts_here() == {("f1", 0): "it died", ("f1", 1): "it died then"}
    outcomes.have_been_asked()
    assert not outcomes.must_be_asked
    assert outcomes.verdicts_here() == {("f1", 0): "it died"}


def test_of_fewer_steps_it_is_known_what_was_begun_and_what_killed_in_them():
    outcomes = StageOutcomes(NAMES, 3)
    outcomes.begun = {0: FunctionOutcome(None, [0.0])}
    outcomes.verdicts = {("b", 0): "it died", ("c", 2): "it died"}
    outcomes.put(0, Held(), FunctionOutcome(None, [0.0, 0.0, 0.0]))
    first = outcomes.first(2)
    assert (first.begun, first.verdicts) == (outcomes.begun, {("b", 0): "it died"})
    assert first.missing() == [0, 1, 2]
    assert outcomes.first(3) is outcomes
