"""Isolated runs: nothing that a function pass does can hurt the caller's process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from parpass import open_runner, run_pipeline, run_pipeline_sync
from parpass.errors import (
    ArgumentError,
    FunctionTimeoutError,
    RuntimeUseError,
    WorkerDiedError,
)
from parpass.runner import Runner
from parpass.runner.cost_model import COST_MODEL
from parpass.transform import ModulePass, PassContext, PassInfo, Sequential
from tests.runner.isolating import (
    Both,
    LeaveBehind,
    NoteRuns,
    Retype,
    is_left_behind,
)
from tests.support.cells import at_times
from tests.support.runner.costs import forget_costs
from tests.support.runner.pooled import folders, kept_folders
from tests.support.toy.ending import EndAtStart, EndIn
from tests.support.toy.hard_passes import AppendPid
from tests.support.toy.ir import Program, program, values_of
from tests.support.toy.passes import Add, AddFrom, FailOn
from tests.support.toy.signed_ir import Change, SignedProgram

pytestmark = pytest.mark.slow


class AppendPidOnAll(ModulePass):
    """Appends the process that it runs in."""

    pass_info = PassInfo(0, "AppendPidOnAll")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        return Program(
            {
                name: func.with_values((*func.values, os.getpid()))
                for name, func in mod.functions.items()
            }
        )


class Closing(ModulePass):
    """Closes a runner."""

    pass_info = PassInfo(0, "Closing")

    def __init__(self, close: Callable[[], None]) -> None:
        self.close = close

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        self.close()
        return mod


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with open_runner(workers=2, isolated=True) as runner:
        yield runner


HERE = os.getpid()
CAUSES = {"segfault": "SIGSEGV(-11)", "exit": "EXIT(3)", "kill": "SIGKILL(-9)"}


@at_times(
    "how, functions",
    [("segfault", 1), ("exit", 2)],
    [("segfault", 2), ("exit", 1), ("kill", 1), ("kill", 2)],
)
def test_a_pass_that_ends_its_process_on_a_small_module_is_named(
    runner: Runner, how: str, functions: int
):
    with pytest.raises(WorkerDiedError) as caught:
        runner.run_sync(program(*range(1, 1 + functions)), [Add(1), EndIn(how, 2)])
    error = caught.value
    assert (error.pass_name, error.function, error.cause) == (
        "EndIn",
        "f0",
        CAUSES[how],
    )


def test_a_pass_that_hangs_on_a_small_module_is_ended_by_its_limit(runner: Runner):
    with pytest.raises(FunctionTimeoutError):
        runner.run_sync(program(1), EndIn("hang", 1), function_timeout=0.2)


def test_workers_that_hang_while_they_load_a_small_stage_are_ended(runner: Runner):
    context = PassContext(config={"parpass.start_timeout": 0.3})
    with pytest.raises(RuntimeUseError, match="hang before they can begin"):
        runner.run_sync(program(1), EndAtStart("hang", os.getpid()), context=context)
    assert values_of(runner.run_sync(program(1), Add(1))) == values_of(program(2))


def test_a_runner_that_is_closed_meanwhile_says_so():
    with open_runner(workers=1, isolated=True) as runner:
        steps = Sequential([Closing(runner.close), Add(1)])
        with pytest.raises(RuntimeUseError, match=r"^this runner is closed"):
            runner.run_sync(program(1), steps)


def test_a_pass_that_hangs_on_a_small_module_can_be_cancelled(runner: Runner):
    async def main() -> None:
        with trio.move_on_after(0.1) as scope:
            await runner.run(program(1), EndIn("hang", 1))
        assert scope.cancelled_caught
        after = await runner.run(program(1), Add(1))
        assert values_of(after) == {"f0": (2,)}

    trio.run(main)


def test_a_cancelled_task_of_asyncio_ends_a_hanging_pass(runner: Runner):
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await runner.run(program(1), EndIn("hang", 1))
        assert values_of(await runner.run(program(1), Add(1))) == {"f0": (2,)}

    asyncio.run(main())


def test_every_function_pass_is_run_by_a_worker_and_module_passes_here(runner: Runner):
    mod = runner.run_sync(program(1, 2), [AppendPid(), AppendPidOnAll(), AppendPid()])
    for first, second, third in [found[1:] for found in values_of(mod).values()]:
        assert os.getpid() not in (first, third)
        assert second == os.getpid()


@pytest.mark.parametrize(("seconds", "is_light"), [(1e-9, True), (1.0, False)])
def test_many_small_functions_are_one_message_if_their_passes_are_light(
    runner: Runner, seconds: float, is_light: bool
):
    forget_costs()
    COST_MODEL.update([AppendPid()], [seconds], 1)  # for a node
    mod = runner.run_sync(program(*range(200)), AppendPid())
    report = runner.last_report
    forget_costs()
    assert report is not None
    assert report.functions == 200
    assert (report.jobs == 1) is is_light
    processes = {found[-1] for found in values_of(mod).values()}
    assert os.getpid() not in processes
    assert len(processes) == 1 or not is_light


def test_a_runner_has_one_directory_for_its_runs_and_another_after_a_death():
    before, kept = folders(), kept_folders()
    with open_runner(workers=1, isolated=True) as runner:
        runner.run_sync(program(1), Add(1))
        first = kept_folders() - kept
        assert len(first) == 1
        runner.run_sync(program(1, 2), [Add(1), AppendPid()])
        assert kept_folders() - kept == first
        with pytest.raises(WorkerDiedError):
            runner.run_sync(program(1), EndIn("exit", 1))
        assert not any(Path(folder).exists() for folder in first)
        assert values_of(runner.run_sync(program(1), Add(1))) == {"f0": (2,)}
    assert folders() <= before


def test_a_call_without_a_runner_leaves_no_directory():
    before = folders()
    run_pipeline_sync(program(1), Add(1), workers=1, isolated=True)
    assert folders() <= before


def test_who_looked_at_a_function_that_came_to_state_another_type_runs_there_too(
    runner: Runner,
):
    steps = [Retype(), AddFrom("f0"), AppendPid()]
    mod = runner.run_sync(program(1, 2), steps)
    assert all(os.getpid() not in found for found in values_of(mod).values())
    expected = values_of(Sequential(steps[:2])(program(1, 2)))
    assert {n: found[:-1] for n, found in values_of(mod).items()} == expected


def test_effects_outside_of_what_a_pass_returns_stay_in_the_workers(runner: Runner):
    run_pipeline_sync(program(1, 2), LeaveBehind())
    assert is_left_behind() == [True, True, True]
    for functions in (1, 30):
        runner.run_sync(program(*range(functions)), LeaveBehind())
        assert is_left_behind() == [False, False, False]


def test_an_error_is_that_of_the_serial_run(runner: Runner):
    for mod in (program(1), program(1, 2, 3)):
        with pytest.raises(ValueError, match=r".") as serial:
            FailOn(1)(mod)
        with pytest.raises(ValueError, match=r".") as isolated:
            runner.run_sync(mod, FailOn(1))
        assert str(isolated.value) == str(serial.value)
        assert isolated.value.__notes__ == serial.value.__notes__


def test_of_a_small_module_too_only_what_relied_on_what_changed_runs_again(
    runner: Runner, tmp_path: Path
):
    mod = SignedProgram(program(0, 0, 0).functions)
    steps = [Change(["f0"]), NoteRuns(tmp_path, "f1", "f0")]
    COST_MODEL.update(steps, [1e-5] * 2, 1)  # so little that it goes in one message
    after = runner.run_sync(mod, steps)
    runs = {path.name: len(path.read_text()) for path in tmp_path.iterdir()}
    assert runs == {"f0": 1, "f1": 2, "f2": 1}
    assert values_of(after) == {"f0": (1,), "f1": (0, 1), "f2": (0,)}


def test_it_can_be_asked_for_in_several_ways():
    # So small a run would stay here else.
    mod, steps = program(1), [AppendPid()]
    context = PassContext(config={"parpass.isolated": True})
    ways: dict[str, Callable[[], Program]] = {
        "argument": lambda: run_pipeline_sync(mod, steps, workers=1, isolated=True),
        "option": lambda: run_pipeline_sync(mod, steps, workers=1, context=context),
        "async": lambda: trio.run(
            partial(run_pipeline, mod, steps, workers=1, isolated=True)
        ),
    }
    assert values_of(run_pipeline_sync(mod, steps, workers=1)) == {"f0": (1, HERE)}
    for way, run in ways.items():
        (found,) = values_of(run()).values()
        assert found[1] != HERE, way


@at_times(
    "how, steps",
    [("hang", 1), ("exit", 2)],
    [("hang", 2), ("exit", 1), ("segfault", 1), ("segfault", 2)],
)
def test_what_comes_after_the_first_failure_cannot_take_its_place(
    runner: Runner, how: str, steps: int
):
    # The later function is at work in another worker when the first one fails.
    mod = program(*range(1, 9))
    passes = [Both(how)] if steps == 1 else [Add(0), Both(how)]
    with pytest.raises(ValueError, match="met 1"):
        runner.run_sync(mod, passes)


def test_what_cannot_be_sent_to_a_worker_is_an_error_that_names_it(runner: Runner):
    class Locked(Add):
        def __init__(self) -> None:
            super().__init__(1)
            self.lock = threading.Lock()

    with pytest.raises(RuntimeUseError, match=r"Add\.lock.*drop isolated"):
        runner.run_sync(program(1), [Add(1), Locked()])


def test_without_workers_it_is_refused():
    with pytest.raises(
        ArgumentError, match="isolated=True needs workers, got workers=0"
    ):
        open_runner(workers=0, isolated=True)
    context = PassContext(config={"parpass.isolated": True})
    with pytest.raises(RuntimeUseError, match="there are none"):
        run_pipeline_sync(program(1), Add(1), workers=0, context=context)


def test_workers_beside_an_executor_are_refused():
    executor: Any = object()
    with pytest.raises(ArgumentError, match="expected workers or executor, got both"):
        open_runner(workers=2, executor=executor)
