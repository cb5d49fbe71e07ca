"""The crash-site matrix: where a worker ends or hangs, and how.

Each cell of the table in docs/failures.md is a test here.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio

from parpass.errors import (
    FunctionFailure,
    FunctionTimeoutError,
    RuntimeUseError,
    SlowerRunWarning,
    UnpicklablePassWarning,
    WorkerDiedError,
)
from parpass.runner import Runner, open_runner
from parpass.runner.ipc import status_board
from parpass.runner.pool import failure_attribution, scheduler
from parpass.transform import PassContext, Sequential
from parpass.transform.config import START_TIMEOUT
from tests.conftest import RunnerOf
from tests.support.cells import at_times, by_turns
from tests.support.runner.pooled import (
    POOLED,
    child_processes,
    comes_down_to,
    folders,
    pooled,
    settled_processes,
)
from tests.support.toy.box_ir import box_program
from tests.support.toy.ending import (
    EndAtStart,
    EndIn,
    EndsOnTheWay,
    EndsWhenSent,
    LeaveBehind,
    ReturnEnding,
    SlowToSend,
    Tell,
    TellProcess,
)
from tests.support.toy.hard_passes import ExitOnce
from tests.support.toy.ir import Fn, Program, RunProgram, program, values_of
from tests.support.toy.passes import Add, AddFrom
from tests.support.toy.pipelines import on_both_toys

pytestmark = [pytest.mark.slow, pytest.mark.each_executor]

CAUSES = {"exit": "EXIT(3)", "segfault": "SIGSEGV(-11)", "kill": "SIGKILL(-9)"}
LIMITS = {"hang": 0.3}  # seconds; else it hangs until it is cancelled


class _Own(NamedTuple):
    """A runner, whose workers all cells use: they have to be whole each time.

    Attributes:
        runner: The runner.
        children: How many child processes this process has then.
    """

    runner: Runner
    children: int


@pytest.fixture(scope="module")
def own(executor: str, runner_of: RunnerOf) -> Iterator[_Own]:
    if executor == "dask":
        yield _Own(runner_of(2), len(settled_processes()))
        return
    others = len(settled_processes())
    with open_runner(workers=2) as runner:
        yield _Own(runner, others + 2)


@pytest.fixture
def whole(own: _Own) -> Iterator[Runner]:
    """Give the runner; afterwards it still works, and nothing is left."""
    before = folders()
    yield own.runner
    assert folders() <= before
    after = own.runner.run_sync(program(1, 2, 3), Add(1), context=pooled())
    assert values_of(after) == values_of(program(2, 3, 4))
    assert comes_down_to(own.children)


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch) -> None:
    # On the way no longer than in a pass.
    monkeypatch.setattr(failure_attribution, "TRANSFER_SECONDS", LIMITS["hang"])
    # A worker needs a core to tell where it hangs.
    monkeypatch.setattr(status_board, "_DUMP_SECONDS", 30.0)


def failure(
    runner: Runner, mod: Program, steps: Any, how: str, start: float = 60.0
) -> Exception:
    limit = LIMITS.get(how)
    context = PassContext(config={**POOLED, START_TIMEOUT: start})
    with pytest.raises(Exception, match=r".") as caught:
        runner.run_sync(mod, steps, context=context, function_timeout=limit)
    return caught.value


def check_blamed(error: Exception, how: str, step: str, where: str) -> None:
    """Check that the right pass and function are named, with the right cause."""
    assert isinstance(error, FunctionFailure)
    assert (error.pass_name, error.function) == (step, "f1")
    if how == "hang":
        assert isinstance(error, FunctionTimeoutError)
        assert "end" in error.traceback  # the function that hangs
        return
    assert isinstance(error, WorkerDiedError)
    assert (error.cause, error.where) == (CAUSES[how], where)
    if how == "segfault":
        assert "Segmentation fault" in error.traceback
        assert "in end" in error.traceback


DEATHS = ["exit", "segfault", "kill"]


@by_turns(("how", "toy"), ["raise", *DEATHS, "hang"], [program, box_program])
def test_in_a_pass_the_function_and_the_pass_are_named(
    toy: Callable[..., Program], how: str, whole: Runner
):
    steps = [Add(1), EndIn(how, 3), Add(1)]
    error = failure(whole, toy(1, 2, 3), steps, how)
    if how == "raise":
        assert isinstance(error, ValueError)
        assert error.__notes__ == ["in pass 'EndIn', on function 'f1'"]
    else:
        check_blamed(error, how, "EndIn", "pass")


def on_the_way(how: str, kind: type[Program] = Program) -> Program:
    odd: Any = EndsOnTheWay(how, os.getpid())
    return kind({"f0": Fn((1,)), "f1": Fn((odd,)), "f2": Fn((3,))})


# How a process ended is found out alike wherever it was: in a pass all ways are met, on
# the way one death each time, which differs from place to place.
@at_times(
    "how, kind",
    [("kill", Program), ("hang", RunProgram)],
    [
        *itertools.product(["exit", "segfault"], [Program, RunProgram]),
        ("kill", RunProgram),
        ("hang", Program),
    ],
)
def test_while_a_function_is_unpickled_it_is_named(
    how: str, kind: type[Program], whole: Runner
):
    error = failure(whole, on_the_way(how, kind), [EndIn("raise"), Add(1)], how)
    check_blamed(error, how, "EndIn", "unpickle")


@at_times("how", ["segfault", "hang"], ["exit", "kill"])
def test_while_a_result_is_pickled_its_pass_is_named(how: str, whole: Runner):
    error = failure(whole, program(1, 2, 3), [ReturnEnding(how, 2)], how)
    check_blamed(error, how, "ReturnEnding", "pickle")


@on_both_toys
def test_a_pass_that_cannot_be_loaded_in_a_worker_is_run_in_this_process(
    toy: Callable[..., Program],
    whole: Runner,
):
    steps = [EndAtStart("raise", os.getpid()), Add(1)]
    with pytest.warns(UnpicklablePassWarning, match="'EndAtStart' cannot be loaded"):
        after = whole.run_sync(toy(1, 2, 3), steps, context=pooled())
    assert values_of(after) == values_of(toy(2, 3, 4))


def test_a_pass_whose_module_exits_as_a_worker_loads_it_runs_here(whole: Runner):
    told = "'EndAtStart' cannot be loaded by the workers.*SystemExit: 3"
    with pytest.warns(UnpicklablePassWarning, match=told):
        after = whole.run_sync(
            program(1, 2, 3),
            [EndAtStart("quit", os.getpid()), Add(1)],
            context=pooled(),
        )
    assert values_of(after) == values_of(program(2, 3, 4))


@pytest.mark.parametrize("kind", [Program, RunProgram])
def test_a_function_that_cannot_be_unpickled_in_a_worker_has_the_run_stay_here(
    kind: type[Program], whole: Runner
):
    mod = on_the_way("raise", kind)
    with pytest.warns(SlowerRunWarning, match="cannot load function 'f1'"):
        after = whole.run_sync(mod, AddFrom("f0"), context=pooled())
    assert after.functions["f1"].values[1:] == (1,)


def test_a_result_that_cannot_be_pickled_is_made_in_this_process(whole: Runner):
    step = ReturnEnding("raise", 2)
    with pytest.warns(SlowerRunWarning, match="cannot be sent function 'f1'"):
        after = whole.run_sync(program(1, 2, 3), step, context=pooled())
    assert isinstance(after["f1"].values[0], EndsWhenSent)
    assert after["f2"].values == (4,)


@at_times(
    "how, toy",
    [("kill", program), ("exit", box_program)],
    [
        ("kill", box_program),
        ("exit", program),
        *itertools.product(["segfault"], [program, box_program]),
    ],
)
def test_workers_that_die_while_they_load_a_pass_are_no_functions_fault(
    toy: Callable[..., Program],
    how: str,
    whole: Runner,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(scheduler, "_MAX_EXTERNAL_KILLS", 3)
    steps = [Add(1), EndAtStart(how, os.getpid()), Add(1)]
    error = failure(whole, toy(1, 2, 3), steps, how)
    assert isinstance(error, RuntimeUseError)
    assert (
        f"keep dying before they can begin, loading pass 'EndAtStart' ({CAUSES[how]})"
    ) in str(error)
    assert ("out of memory" in str(error)) == (how == "kill")


@at_times("toy", [program], [box_program])
def test_workers_that_hang_while_they_load_a_pass_are_ended(
    toy: Callable[..., Program], whole: Runner
):
    steps = [EndAtStart("hang", os.getpid())]
    whole.run_sync(toy(1, 2), Add(1), context=pooled())  # they are started
    error = failure(whole, toy(1, 2, 3), steps, "", start=0.15)
    assert isinstance(error, RuntimeUseError)
    assert "hang before they can begin, loading pass 'EndAtStart' (for" in str(error)


HANG = """
import signal, sys
if "--process-name" in sys.orig_argv:
    signal.pause()
"""


def test_workers_that_hang_while_their_process_starts_are_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    Path(tmp_path, "sitecustomize.py").write_text(HANG)
    before = settled_processes()
    with open_runner(workers=2) as runner:
        with monkeypatch.context() as patch:
            patch.setenv("PYTHONPATH", str(tmp_path))
            error = failure(runner, program(1, 2), [Add(1)], "", start=0.2)
        assert isinstance(error, RuntimeUseError)
        assert "hang before they can begin" in str(error)
        # Each is given its time, and then killed.
        assert comes_down_to(len(before))
        after = runner.run_sync(program(1, 2), Add(1), context=pooled())
    assert values_of(after) == values_of(program(2, 3))


@at_times("number", [signal.SIGKILL], [signal.SIGSEGV])
def test_a_worker_that_dies_on_idle_is_replaced_silently(
    number: int, whole: Runner, tmp_path: Path
):
    mod, step = program(*range(8)), TellProcess(Tell(str(tmp_path)))
    expected = values_of(program(*range(1, 9)))
    assert values_of(whole.run_sync(mod, step, context=pooled())) == expected
    os.kill(int(next(tmp_path.iterdir()).name), number)
    assert values_of(whole.run_sync(mod, step, context=pooled())) == expected


async def test_a_suspect_may_ask_for_a_function_that_is_not_packed_yet(
    whole: Runner, tmp_path: Path
):
    # Packing all takes longer than dying.
    functions = {f"f{at}": Fn((SlowToSend(at),)) for at in range(200)}
    mod = Program({"f-1": Fn((-1,)), **functions})
    steps = Sequential([ExitOnce(-1, str(tmp_path / "died")), AddFrom("f199")])
    with trio.fail_after(60):
        after = await whole.run(mod, steps, context=pooled())
    assert after["f-1"].values == (-1, 199)


async def test_a_worker_that_is_stopped_on_idle_can_be_cancelled():
    before = settled_processes()
    # There is one worker, and it has begun: a stopped one that was still starting would
    # be waited for, as no job of the run that is cancelled is its.
    async with open_runner(workers=1) as runner:
        await runner.run(program(1, 2), Add(1), context=pooled())
        stopped = settled_processes() - before
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        seconds = (
            0.2  # a job of a run that is cancelled earlier is not the worker's yet
        )
        while stopped <= settled_processes():
            with trio.move_on_after(seconds) as scope:
                await runner.run(program(1, 2), Add(1), context=pooled())
            assert scope.cancelled_caught
            seconds *= 2
        after = await runner.run(program(1, 2), Add(1), context=pooled())
    assert values_of(after) == values_of(program(2, 3))
    assert comes_down_to(len(before))


@at_times("how", ["segfault"], ["exit", "raise", "kill"])
def test_a_worker_that_ends_badly_when_the_pool_is_closed_costs_nothing(how: str):
    before = settled_processes()
    with open_runner(workers=2) as runner:
        after = runner.run_sync(program(1, 2), LeaveBehind(how), context=pooled())
    assert values_of(after) == values_of(program(2, 3))
    assert child_processes() <= before


@pytest.mark.stress
def test_a_worker_that_hangs_when_the_pool_is_closed_is_killed():
    before, began = settled_processes(), time.monotonic()
    with open_runner(workers=2) as runner:
        runner.run_sync(program(1, 2), LeaveBehind("hang"), context=pooled())
    assert time.monotonic() - began < 20
    assert child_processes() <= before
