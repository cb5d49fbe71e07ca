from __future__ import annotations

from collections.abc import Mapping

from parpass.diagnostic import Diagnostic, DiagnosticLevel
from parpass.runner.ipc.function_outcome import (
    ANY_FUNCTION,
    Cutoff,
    Effects,
    FunctionOutcome,
)
from parpass.runner.ipc.module_store import FunctionHandle
from parpass.runner.stage.outcomes import StageOutcomes, merge_records
from tests.support.toy.passes import Add, Keep

NAMES = ["a", "b", "c"]
WORD = {1: Effects((Diagnostic(DiagnosticLevel.NOTE, None, "word"),))}


def test_what_says_nothing_is_kept_as_how_it_came_out_and_how_long_it_took():
    outcomes = StageOutcomes(NAMES, 2)
    held = FunctionHandle("made")
    outcomes.put(1, held, FunctionOutcome(None, [0.5, 0.25]))
    outcomes.put(2, held, FunctionOutcome(None, [1.0, 1.0]))
    assert outcomes.by_name() == {"b": held, "c": held}
    assert list(outcomes.seconds) == [0.0, 0.75, 2.0]
    assert outcomes.step_seconds == [1.5, 1.25]
    assert outcomes.notable == {}
    assert outcomes.missing() == [0]


def test_notable_outcomes_are_in_module_order():
    outcomes = StageOutcomes(NAMES, 2)
    talking = FunctionOutcome(None, [0.0, 0.0], WORD)
    failing = FunctionOutcome(None, [0.0], failure=ValueError())
    for function, outcome in (
        (2, failing),
        (1, FunctionOutcome(None, [])),
        (0, talking),
    ):
        outcomes.put(function, FunctionHandle(), outcome)
    assert outcomes.notable == {0: talking, 2: failing}


def test_the_outcome_of_a_second_run_counts():
    outcomes = StageOutcomes(NAMES, 2)
    outcomes.put(0, FunctionHandle(), FunctionOutcome(None, [0.0, 0.0], WORD))
    again = FunctionHandle("again")
    outcomes.put(0, again, FunctionOutcome(None, [0.0, 0.0]))
    assert outcomes.notable == {}
    assert outcomes.by_name() == {"a": again}


def failing(steps: int) -> FunctionOutcome:
    return FunctionOutcome(None, [0.0] * steps, failure=ValueError())


def test_the_end_is_the_first_failure_in_the_order_of_passes_and_then_of_functions():
    outcomes = StageOutcomes(NAMES, 3)
    assert [outcomes.cutoff.steps_on(at) for at in range(3)] == [3, 3, 3]
    outcomes.put(0, FunctionHandle(), failing(3))
    assert [outcomes.cutoff.steps_on(at) for at in range(3)] == [3, 2, 2]
    outcomes.put(2, FunctionHandle(), failing(2))
    assert [outcomes.cutoff.steps_on(at) for at in range(3)] == [2, 2, 2]
    outcomes.put(1, FunctionHandle(), failing(2))
    assert [outcomes.cutoff.steps_on(at) for at in range(3)] == [2, 2, 1]


def test_a_reported_error_does_not_end_its_pass():
    said = Effects((Diagnostic(DiagnosticLevel.ERROR, None, "wrong"),))
    outcomes = StageOutcomes(NAMES, 3)
    outcomes.put(0, FunctionHandle(), FunctionOutcome(None, [0.0], {0: said}))
    assert [outcomes.cutoff.steps_on(at) for at in range(3)] == [1, 1, 1]
    outcomes.put(1, FunctionHandle(), failing(1))
    assert outcomes.cutoff == Cutoff(0, 1)


def relying(*on: int, failed: bool = False, is_new: bool = False) -> FunctionOutcome:
    """Return what came of a function that relied on others to keep their signatures."""
    failure = ValueError() if failed else None
    return FunctionOutcome(
        None, [0.0], failure=failure, dependencies=on, signature_changed=is_new
    )


def settled(*outcomes: FunctionOutcome) -> StageOutcomes:
    made = StageOutcomes([f"f{at}" for at in range(len(outcomes))], 1)
    for at, outcome in enumerate(outcomes):
        made.put(at, FunctionHandle(), outcome)
    return made


def test_while_signatures_are_kept_nothing_runs_again():
    outcomes = settled(relying(1), relying(0))
    assert not outcomes.invalidate_dependents()
    assert outcomes.missing() == []


def test_dependents_of_a_signature_that_changed_run_again_and_no_others():
    outcomes = settled(
        relying(is_new=True), relying(0), relying(1), relying(), relying(3, 0)
    )
    assert outcomes.invalidate_dependents()
    assert outcomes.missing() == [1, 4]
    assert outcomes.unstable_names() == ["f0"]


def test_dependents_of_any_function_run_again():
    outcomes = settled(relying(is_new=True), relying(ANY_FUNCTION), relying(2))
    assert outcomes.invalidate_dependents()
    assert outcomes.missing() == [1]


def test_a_function_that_runs_again_and_keeps_its_signature_has_no_dependents_run():
    outcomes = settled(relying(is_new=True), relying(0), relying(1))
    outcomes.invalidate_dependents()
    outcomes.put(1, FunctionHandle(), relying())
    assert not outcomes.invalidate_dependents()
    assert outcomes.missing() == []


def test_a_chain_of_changed_signatures_is_settled_in_one_more_turn():
    chain = [relying(is_new=True), *[relying(at) for at in range(9)]]
    outcomes = settled(*chain, relying())
    assert outcomes.invalidate_dependents()
    assert outcomes.missing() == [1]
    outcomes.put(1, FunctionHandle(), relying(is_new=True))
    assert outcomes.invalidate_dependents()
    assert outcomes.missing() == [2, 3, 4, 5, 6, 7, 8, 9]
    for at in outcomes.missing():
        outcomes.put(at, FunctionHandle(), relying(is_new=True))
    assert not outcomes.invalidate_dependents()


def test_what_was_cut_short_by_a_failure_that_may_not_be_one_runs_again():
    outcomes = StageOutcomes(["f0", "f1", "f2", "f3"], 2)
    outcomes.put(
        0, FunctionHandle(), FunctionOutcome(None, [0.0, 0.0], signature_changed=True)
    )
    outcomes.put(1, FunctionHandle(), relying(0, failed=True))
    outcomes.put(2, FunctionHandle(), FunctionOutcome(None, []))
    outcomes.put(3, FunctionHandle(), FunctionOutcome(None, [0.0, 0.0]))
    assert outcomes.invalidate_dependents()
    assert outcomes.missing() == [1, 2]
    assert outcomes.cutoff == Cutoff(1)


def test_what_was_cut_short_by_a_failure_that_is_one_does_not_run_again():
    outcomes = StageOutcomes(["f0", "f1", "f2", "f3"], 2)
    outcomes.put(
        0, FunctionHandle(), FunctionOutcome(None, [0.0, 0.0], signature_changed=True)
    )
    outcomes.put(1, FunctionHandle(), relying(failed=True))
    outcomes.put(2, FunctionHandle(), FunctionOutcome(None, []))
    outcomes.put(3, FunctionHandle(), relying(0))
    assert outcomes.invalidate_dependents()
    assert outcomes.missing() == [3]
    assert outcomes.cutoff == Cutoff(0, 1)


def test_a_quarantined_call_is_unconfirmed_once_a_function_runs_again():
    outcomes = settled(relying(is_new=True), relying(ANY_FUNCTION, failed=True))
    outcomes.quarantined = {("f1", 0): "it died", ("f1", 1): "it died then"}
    assert outcomes.invalidate_dependents()
    assert outcomes.needs_worker_recheck
    # When the first pass began there was nothing that could not hold.
    assert outcomes.quarantined == {("f1", 0): "it died"}
    assert outcomes.local_quarantine() == {
        ("f1", 0): "it died",
        ("f1", 1): "it died then",
    }
    outcomes.mark_rechecked()
    assert not outcomes.needs_worker_recheck
    assert outcomes.local_quarantine() == {("f1", 0): "it died"}


def test_of_fewer_steps_it_is_known_what_killed_in_them():
    outcomes = StageOutcomes(NAMES, 3)
    outcomes.quarantined = {("b", 0): "it died", ("c", 2): "it died"}
    outcomes.put(0, FunctionHandle(), FunctionOutcome(None, [0.0, 0.0, 0.0]))
    first = outcomes.first(2)
    assert first.quarantined == {("b", 0): "it died"}
    assert first.missing() == [0, 1, 2]
    assert outcomes.first(3) is outcomes


STEPS = [Add(), Keep()]


def says(text: str, level: DiagnosticLevel = DiagnosticLevel.NOTE) -> Diagnostic:
    return Diagnostic(level, None, text)


def step(*texts: str, count: int = 0) -> Effects:
    said = tuple(says(text) for text in texts)
    return Effects(said, {"n": count} if count else None)


def outcomes(
    given: Mapping[str, list[Effects]], failures: Mapping[str, Exception] | None = None
) -> StageOutcomes:
    """Return outcomes that came in this order; module order is the alphabet's."""
    names = sorted(given)
    made = StageOutcomes(names, len(STEPS))
    for name, steps in given.items():
        said = {at: one for at, one in enumerate(steps) if one != Effects()}
        failure = (failures or {}).get(name)
        outcome = FunctionOutcome(None, [1.0] * len(steps), said, failure)
        made.put(names.index(name), FunctionHandle(), outcome)
    return made


def test_what_was_said_is_in_the_order_of_passes_and_then_of_functions():
    records = merge_records(
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
    first, second = merge_records(STEPS, outcomes(given))
    assert (first.counters, first.seconds) == ({"n": 5}, 2.0)
    assert not second.counters


def test_the_first_failure_of_the_first_pass_that_failed_counts():
    early, late, other = ValueError("early"), ValueError("late"), ValueError("other")
    given = {"c": [step("c1")], "a": [step("a1"), step("a2")], "b": [step("b1")]}
    failures = {"a": late, "b": early, "c": other}
    (record,) = merge_records(STEPS, outcomes(given, failures))
    assert record.failure is early
    assert record.function == "b"
    assert [one.message for one in record.diagnostics] == ["a1", "b1"]


def test_a_failure_without_a_word_ends_the_run():
    failure = ValueError()
    given = {"a": [step(), step()], "b": [step()]}
    (record,) = merge_records(STEPS, outcomes(given, {"b": failure}))
    assert (record.failure, record.function) == (failure, "b")


def test_a_reported_error_ends_the_run_but_not_the_pass():
    wrong = says("wrong", DiagnosticLevel.ERROR)
    given = {"a": [Effects((wrong,))], "b": [step("b1"), step("b2")]}
    (record,) = merge_records(STEPS, outcomes(given))
    assert record.failure is None
    assert record.function == "a"
    assert [one.message for one in record.diagnostics] == ["wrong", "b1"]


def test_a_module_without_functions_has_empty_records():
    records = merge_records(STEPS, outcomes({}))
    assert [list(record.diagnostics) for record in records] == [[], []]
