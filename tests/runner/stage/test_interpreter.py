from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from parpass.diagnostic import DiagnosticLevel
from parpass.errors import ReadOnlyModuleError
from parpass.runner.ipc.function_outcome import FunctionOutcome
from parpass.runner.ipc.shared_dir import SharedDirectory
from parpass.runner.ipc.status_board import StatusBoard, StatusSlot
from parpass.runner.stage.interpreter import FunctionCursor, StageInterpreter
from parpass.transform import FunctionPass, Pass, PassContext, PassInfo
from parpass.transform.checked_adapter import checked
from tests.support.toy.ir import Fn, Program, ToyAdapter, program
from tests.support.toy.passes import Add, AddFrom, FailOn, Say, Write


class Look(FunctionPass):
    """Calls something with the function and the module that it is given."""

    pass_info = PassInfo(0, "Look")

    def __init__(self, look: Callable[[Fn, Program], None]) -> None:
        self.look = look

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        self.look(func, mod)
        return func


def work_on(
    mod: Program,
    steps: Sequence[Pass],
    slot: StatusSlot | None = None,
    loads: list[str] | None = None,
) -> StageInterpreter:
    def load(name: str) -> Fn:
        if loads is not None:
            loads.append(name)
        return mod[name]

    names = list(mod.functions)
    return StageInterpreter(
        steps, PassContext(), checked(ToyAdapter()), Program(), names, load, slot
    )


def outcome_of(work: StageInterpreter, name: str) -> FunctionOutcome:
    cursor = FunctionCursor(name, work.versions.index[name])
    work.run([cursor])
    return cursor.outcome


def values(work: StageInterpreter, name: str) -> tuple[int, ...]:
    return outcome_of(work, name).function.values


def test_all_steps_are_run_on_a_function_in_order():
    outcome = outcome_of(work_on(program(1), [Add(1), Say(), Add(10)]), "f0")
    assert outcome.function.values == (13,)
    assert [one.message for one in outcome.effects[1].diagnostics] == ["saw 2"]
    assert {at: said.counters for at, said in outcome.effects.items()} == {
        0: {"added": 1},
        1: None,
        2: {"added": 1},
    }


def test_another_function_is_seen_as_it_is_when_the_step_begins():
    steps = [Add(1), AddFrom("f1"), Add(10), AddFrom("f1")]
    work = work_on(program(0, 5), steps)
    # f1 at the second step is 6; at the fourth it is 16, 16 after its own second step.
    assert values(work, "f0") == (11, 16, 16, 16)


def test_the_order_of_the_functions_does_not_show():
    steps = [AddFrom("f1"), AddFrom("f0"), Add(1), AddFrom("f2")]
    mod = program(1, 2, 3)
    forth = work_on(mod, steps)
    back = work_on(mod, steps)
    names = list(mod.functions)
    found = {name: values(forth, name) for name in names}
    assert {name: values(back, name) for name in reversed(names)} == found


def test_another_function_is_loaded_once_and_only_if_it_is_asked_for():
    loads: list[str] = []
    steps = [Add(1), AddFrom("f1"), AddFrom("f1")]
    work = work_on(program(0, 1, 2), steps, loads=loads)
    outcome_of(work, "f0")
    assert loads == ["f0", "f1"]


def test_a_pass_that_asks_for_its_own_function_gets_that_very_object():
    seen: list[bool] = []
    look = Look(lambda func, mod: seen.append(mod["f0"] is func))
    outcome_of(work_on(program(0), [look, Add(1), look]), "f0")
    assert seen == [True, True]


def test_functions_that_are_skipped_are_the_same_in_all_steps():
    mod = program(0, f1=Fn((5,), skip=True))
    work = work_on(mod, [Add(1), AddFrom("f1")])
    assert values(work, "f0") == (1, 5)
    assert outcome_of(work, "f1").function is mod["f1"]


def test_effects_of_versions_made_on_demand_are_discarded():
    work = work_on(program(0, 1), [Say(), AddFrom("f1")])
    outcome = outcome_of(work, "f0")
    assert [len(said.diagnostics) for said in outcome.effects.values()] == [1]


def test_names_and_number_are_known_without_loading():
    loads: list[str] = []
    found: list[Any] = []

    def look(func: Fn, mod: Program) -> None:
        functions = mod.functions
        found.extend([list(functions), len(functions), "f1" in functions])
        found.append("f9" in functions)

    outcome_of(work_on(program(0, 1), [Look(look)], loads=loads), "f0")
    assert found == [["f0", "f1"], 2, True, False]
    assert loads == ["f0"]


def test_an_unknown_function_is_a_key_error():
    outcome = outcome_of(work_on(program(0), [AddFrom("f9")]), "f0")
    assert isinstance(outcome.failure, KeyError)


def test_after_a_failure_no_pass_is_run_that_comes_after_it():
    work = work_on(program(0, 1, 2), [Add(1), FailOn(2), Add(1)])
    runs = [outcome_of(work, name) for name in ("f1", "f2", "f0")]
    assert [len(outcome.seconds) for outcome in runs] == [2, 1, 2]


def test_what_cannot_be_reached_any_more_is_not_even_loaded():
    loads: list[str] = []
    work = work_on(program(2, 1), [FailOn(2)], loads=loads)
    assert isinstance(outcome_of(work, "f0").failure, ValueError)
    assert not outcome_of(work, "f1").seconds
    assert loads == ["f0"]


def test_an_exit_is_an_outcome_and_an_interrupt_here_is_not():
    work = work_on(program(2), [FailOn(2, SystemExit)])
    assert isinstance(outcome_of(work, "f0").failure, SystemExit)
    with pytest.raises(KeyboardInterrupt):
        outcome_of(work_on(program(2), [FailOn(2, KeyboardInterrupt)]), "f0")


def test_the_module_can_only_be_read():
    outcome = outcome_of(work_on(program(0), [Write()]), "f0")
    assert isinstance(outcome.failure, ReadOnlyModuleError)


@pytest.mark.parametrize("ending", [FailOn(0), Say(DiagnosticLevel.ERROR)])
def test_steps_after_one_that_failed_are_not_run(ending: Pass):
    outcome = outcome_of(work_on(program(0), [Add(0), ending, Add(1)]), "f0")
    assert outcome.ended_early
    assert len(outcome.seconds) == 2


def test_each_body_is_recorded_that_of_a_function_made_on_demand_too(tmp_path: Path):
    folder = SharedDirectory(str(tmp_path))
    seen: list[tuple[int, ...]] = []
    board = StatusBoard(folder)
    look = Look(
        lambda func, mod: seen.extend(
            (work.function, work.step, work.body, work.body_step)
            for work in board.read()
        )
    )
    steps = [look, AddFrom("f1"), look]
    outcome_of(work_on(program(0, 1), steps, slot=StatusSlot(folder, "1-a")), "f0")
    # f0 is looked at, then f1 for f0, then f0 again.
    assert seen == [(0, 0, 0, 0), (0, 1, 1, 0), (0, 2, 0, 2)]
