from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

import parpass
from parpass.diagnostic import DiagnosticLevel
from parpass.errors import (
    ArgumentError,
    DiagnosticError,
    PassInputError,
    PipelineSyntaxError,
    RuntimeUseError,
    SlowerRunWarning,
)
from parpass.runner import (
    Runner,
    end_idle_workers,
    open_runner,
    run_pipeline,
    run_pipeline_sync,
)
from parpass.runner.cores import usable_cores
from parpass.transform import ModulePass, PassContext, PassInfo, Sequential
from tests.support.runner.executors import ThreadExecutor
from tests.support.runner.notebook import prompt
from tests.support.runner.pooled import (
    child_processes,
    folders,
    new_pipe,
    pooled,
    run_pooled,
    settled_processes,
)
from tests.support.toy.hard_passes import AppendPid, Hang, Memo, RunInside
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add, AddFrom, Duplicate, Keep, Say
from tests.support.watching import Log

PASSES = [Add(1), AddFrom("f1"), Duplicate(), Add(2)]


def expected(mod: Program) -> dict[str, tuple[int, ...]]:
    return values_of(Sequential(PASSES)(mod))


@pytest.mark.parametrize("workers", [-1, "2", 1.5, True])
def test_workers_must_be_a_number_from_0_up(workers: Any):
    with pytest.raises(ArgumentError, match="of processes for workers"):
        open_runner(workers=workers)


def test_absurdly_many_workers_become_as_many_as_can_be_of_use():
    most = max(32, 4 * usable_cores())
    open_runner(workers=most).close()  # no warning
    with pytest.warns(
        SlowerRunWarning, match=f"using {most} workers instead"
    ) as warned:
        open_runner(workers=10**9).close()
    assert warned[0].filename == __file__


@pytest.mark.slow
def test_no_more_workers_than_the_affinity_mask_and_the_quota_allow():
    script = "from parpass.runner.cores import usable_cores; print(usable_cores())"
    counted = subprocess.run(
        [sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{0}}); {script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert counted.stdout.strip() == "1"


def test_a_quota_of_the_container_counts(monkeypatch: pytest.MonkeyPatch):
    def quota_of_one(_cores: int) -> int:
        return 1

    monkeypatch.setattr("loky.backend.context._cpu_count_cgroup", quota_of_one)
    assert usable_cores() == 1


def test_what_is_no_pipeline_or_no_module_is_refused():
    with pytest.raises(ArgumentError, match="expected a pass, a list of passes"):
        run_pipeline_sync(program(1), 5, workers=0)  # pyright: ignore[reportArgumentType] -- the error
    with pytest.raises(PassInputError, match="got int"):
        run_pipeline_sync(5, [Add()], workers=0)
    with pytest.raises(PipelineSyntaxError, match="did you mean 'Duplicate'"):
        run_pipeline_sync(program(1), "Duplicat", workers=0)


def test_a_pipeline_may_be_a_pass_a_sequence_or_text():
    for pipeline in (Add(2), [Add(1), Add(1)], (Add(2),), "Add{amount=2}"):
        mod = run_pipeline_sync(program(1), pipeline, workers=0)
        assert values_of(mod) == {"f0": (3,)}


def test_without_workers_everything_is_run_here():
    with open_runner(workers=0) as runner:
        mod = run_pooled(runner, AppendPid(), program(1, 2))
    assert {values[-1] for values in values_of(mod).values()} == {os.getpid()}


def test_with_workers_function_passes_are_run_elsewhere(runner: Runner):
    mod = run_pooled(runner, AppendPid(), program(*range(20)))
    assert os.getpid() not in {values[-1] for values in values_of(mod).values()}


def test_small_work_stays_here(runner: Runner):
    def stays() -> bool:
        mod = runner.run_sync(program(1, 2), AppendPid())
        return {values[-1] for values in values_of(mod).values()} == {os.getpid()}

    # Where others keep this process from its core, workers may well be asked.
    assert any(stays() for _ in range(9))


def test_a_given_context_is_entered_once_and_left(runner: Runner):
    log = Log()
    context = pooled(instruments=[log])
    runner.run_sync(program(1), [Keep()], context=context)
    assert [word for word in log.log if word in ("enter", "exit")] == ["enter", "exit"]
    assert PassContext.current() is not context


def test_the_current_context_is_not_entered_again(runner: Runner):
    log = Log()
    with pooled(instruments=[log]) as context:
        runner.run_sync(program(1), [Keep()], context=context)
        runner.run_sync(program(1), [Keep()])
        assert "exit" not in log.log
    assert log.log.count("enter") == 1
    assert log.log.count("before Keep") == 2


def test_a_context_is_left_when_a_pass_fails(runner: Runner):
    log = Log()
    with pytest.raises(DiagnosticError):
        run_pooled(runner, Say(DiagnosticLevel.ERROR), program(1), instruments=[log])
    assert log.log[-1] == "exit"


def test_a_closed_runner_says_so():
    runner = open_runner(workers=0)
    runner.close()
    with pytest.raises(RuntimeUseError, match="this runner is closed"):
        runner.run_sync(program(1), [Add()])


def test_what_is_no_executor_is_refused_before_the_run():
    bare: Any = SimpleNamespace(workers=1, is_warm=True)
    with pytest.raises(ArgumentError, match=r"parpass\.runner\.Executor.*Simple"):
        run_pipeline_sync(program(1, 2), PASSES, executor=bare)


def test_an_executor_of_the_user_is_used_and_not_closed():
    executor = ThreadExecutor()
    run_pipeline_sync(program(1, 2), PASSES, context=pooled(), executor=executor)
    assert "submit" in executor.log
    assert "close" not in executor.log
    executor.close()


async def test_many_tasks_of_trio_share_a_runner(runner: Runner):
    results: dict[int, Any] = {}

    async def run(number: int) -> None:
        mod = program(*range(number, number + 5))
        results[number] = await runner.run(mod, PASSES, context=pooled())

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(run, number)
    for number, result in results.items():
        assert values_of(result) == expected(program(*range(number, number + 5)))


def test_many_tasks_of_asyncio_share_a_runner(runner: Runner):
    async def run_all() -> list[Any]:
        runs = [
            runner.run(program(*range(n, n + 5)), PASSES, context=pooled())
            for n in range(4)
        ]
        return await asyncio.gather(*runs)

    for number, result in enumerate(asyncio.run(run_all())):
        assert values_of(result) == expected(program(*range(number, number + 5)))


def test_many_threads_share_a_runner(runner: Runner):
    mods = [program(*range(n, n + 5)) for n in range(4)]
    with ThreadPoolExecutor(4) as threads:
        runs = [
            threads.submit(runner.run_sync, mod, PASSES, context=pooled())
            for mod in mods
        ]
        results = [run.result(60) for run in runs]
    assert [values_of(one) for one in results] == [expected(mod) for mod in mods]


def test_a_runner_is_awaited_on_the_loop_and_called_in_threads_beside_it(
    runner: Runner,
):
    async def both() -> list[Program]:
        called = asyncio.to_thread(run_pooled, runner, Add(1), program(1, 2))
        return [*await asyncio.gather(runner.run(program(1, 2), Add(1)), called)]

    assert asyncio.run(both()) == [program(2, 3)] * 2


def test_the_sync_form_works_where_an_asyncio_loop_is_running(runner: Runner):
    async def notebook() -> Any:
        with prompt():
            return run_pooled(runner, Sequential(PASSES), program(1, 2))

    assert values_of(asyncio.run(notebook())) == expected(program(1, 2))


async def test_the_sync_form_refuses_to_block_trio(runner: Runner):
    with pytest.raises(RuntimeUseError, match=r"await parpass\.run_pipeline"):
        runner.run_sync(program(1), [Add()])


def test_the_async_form_needs_a_loop_that_we_know():
    with pytest.raises(RuntimeUseError, match="under trio and asyncio"):
        run_pipeline(program(1), [Add()], workers=0).send(None)


class Awaits(ModulePass):
    """Waits on trio's or asyncio's loop, and notes which loop's thread it is in."""

    pass_info = PassInfo(0, "Awaits")

    def __init__(self, sleep: Any) -> None:
        self.sleep = sleep
        self.thread = 0

    async def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        assert PassContext.current() is ctx
        self.thread = threading.get_ident()
        await self.sleep(0)
        return mod


def test_async_module_passes_are_awaited_on_the_callers_loop(runner: Runner):
    for run, sleep in ((trio.run, trio.sleep), (_asyncio_run, asyncio.sleep)):
        awaits = Awaits(sleep)
        run(lambda awaits=awaits: runner.run(program(1), [awaits], context=pooled()))
        assert awaits.thread == threading.get_ident()
    runner.run_sync(program(1), [Awaits(trio.sleep)])


class LeavesBehind(Awaits):
    """Leaves a call on the loop that raises."""

    async def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        trio.lowlevel.current_trio_token().run_sync_soon(self.fail)
        return mod

    def fail(self) -> None:
        raise LookupError("left behind")


def test_what_an_async_pass_leaves_on_its_loop_breaks_no_other_pass(runner: Runner):
    leaves, awaits = LeavesBehind(trio.sleep), Awaits(trio.sleep)

    async def cell() -> None:
        with prompt():
            for _ in range(3):
                with pytest.raises(trio.TrioInternalError) as beside:
                    runner.run_sync(program(1), [leaves])
                assert "left behind" in repr(beside.value.__cause__)
                runner.run_sync(program(1), [awaits, Add(1)], context=pooled())

    with pytest.raises(trio.TrioInternalError) as plain:
        runner.run_sync(program(1), [leaves])
    assert "left behind" in repr(plain.value.__cause__)
    asyncio.run(cell())


def _asyncio_run(function: Any) -> Any:
    return asyncio.run(function())


@pytest.mark.parametrize("workers", [None, 0, 2])
def test_a_pass_body_in_a_worker_may_run_passes(runner: Runner, workers: int | None):
    root = RunInside(Sequential([Say(), Add(5)]), workers)
    mod = program(1, 2, 3)
    with pooled() as serial:
        expected_values = values_of(root(mod))
    with pooled() as parallel:
        assert values_of(runner.run_sync(mod, root)) == expected_values
    assert expected_values == {"f0": (7,), "f1": (8,), "f2": (9,)}
    assert serial.statistics == parallel.statistics == {"RunInside": {"added": 6}}


def test_what_passes_inside_a_body_say_is_said_by_that_body(
    runner: Runner, capfd: pytest.CaptureFixture[str]
):
    root = RunInside(Say())
    root(program(1, 2))
    serial = capfd.readouterr().err
    run_pooled(runner, root, program(1, 2))
    assert capfd.readouterr().err == serial
    assert serial.count("saw 1") == 2


def test_errors_that_passes_inside_a_body_report_are_raised_there(runner: Runner):
    root = RunInside(Say(DiagnosticLevel.ERROR))
    with pytest.raises(DiagnosticError) as serial:
        root(program(1, 2))
    with pytest.raises(DiagnosticError) as parallel:
        run_pooled(runner, root, program(1, 2))
    assert str(parallel.value) == str(serial.value)
    assert parallel.value.__notes__ == serial.value.__notes__


@pytest.mark.slow
def test_a_run_of_its_own_leaves_nothing_behind_but_workers_that_can_be_ended():
    children, before = settled_processes(), folders()
    mod = run_pipeline_sync(program(1, 2), PASSES, context=pooled(), workers=2)
    assert values_of(mod) == expected(program(1, 2))
    assert folders() <= before
    end_idle_workers()
    assert child_processes() <= children
    assert folders() <= before


@pytest.mark.slow
def test_cancelling_under_trio_ends_what_workers_do(tmp_path: Path):
    children, before = settled_processes(), folders()
    begun = new_pipe(tmp_path)

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_run_and_hang, begun)
            await trio.to_thread.run_sync(begun.read_bytes)
            nursery.cancel_scope.cancel()

    trio.run(run)
    end_idle_workers()
    assert child_processes() <= children
    assert folders() <= before


async def _run_and_hang(begun: Path) -> None:
    hang = Hang(str(begun))
    await run_pipeline(program(1, 2, 3), [hang], context=pooled(), workers=2)


@pytest.mark.slow
def test_cancelling_under_asyncio_ends_what_workers_do_even_if_done_twice(
    tmp_path: Path,
):
    children, before = settled_processes(), folders()
    begun = new_pipe(tmp_path)

    async def run() -> None:
        running = asyncio.ensure_future(_run_and_hang(begun))
        await asyncio.to_thread(begun.read_bytes)
        running.cancel()
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(run())
    end_idle_workers()
    assert child_processes() <= children
    assert folders() <= before


@pytest.mark.slow
def test_cancelling_one_run_leaves_the_results_of_another_right(
    runner: Runner, tmp_path: Path
):
    begun = new_pipe(tmp_path)
    mod = program(*range(30))
    results: dict[int, Any] = {}
    doomed = trio.CancelScope()

    async def other() -> None:
        for at in range(3):
            results[at] = await runner.run(mod, PASSES, context=pooled())

    async def hang() -> None:
        with doomed:
            hang = Hang(str(begun))
            await runner.run(program(1, 2), [hang], context=pooled())

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hang)
            await trio.to_thread.run_sync(begun.read_bytes)
            nursery.start_soon(other)
            await trio.testing.wait_all_tasks_blocked()
            doomed.cancel()

    trio.run(run)
    assert [values_of(results[at]) for at in range(3)] == [expected(mod)] * 3


def test_a_cancelled_run_stops_what_it_began_in_this_process():
    # The second function is never begun, though nobody waits for the thread.
    released, begun = threading.Event(), threading.Event()
    seen: list[Any] = []

    @parpass.function_pass(opt_level=0)
    def slow(func: Any, mod: Any, ctx: PassContext) -> Any:
        seen.append(func)
        begun.set()
        released.wait(60)
        return func

    async def run() -> None:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_run_here, slow)
                await trio.to_thread.run_sync(begun.wait)
                scope.cancel()

    trio.run(run)
    released.set()
    for thread in threading.enumerate():
        if thread.name.startswith("trio.to_thread"):
            thread.join(0.2)
    assert len(seen) == 1


def test_after_a_cancelled_pass_nothing_of_the_run_is_called():
    released, begun = threading.Event(), threading.Event()
    watched = Log()

    @parpass.module_pass(opt_level=0)
    def slow(mod: Any, ctx: PassContext) -> Any:
        begun.set()
        released.wait(60)
        watched.log.append("the end of slow")
        return mod

    async def run() -> list[str]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_run_here, Sequential([slow, Keep()]))
            await trio.to_thread.run_sync(begun.wait)
            nursery.cancel_scope.cancel()
        called = list(watched.log)
        released.set()
        with trio.fail_after(60):  # until the thread that nobody waits for is free
            while trio.to_thread.current_default_thread_limiter().borrowed_tokens:
                await trio.lowlevel.checkpoint()
        return called

    with PassContext(instruments=[watched]):
        called = trio.run(run)
        assert watched.log == [*called, "the end of slow"]


async def _run_here(pass_: Any) -> None:
    await run_pipeline(program(1, 2), [pass_], workers=0)


def test_what_a_pass_remembers_in_a_worker_ends_with_its_stage(runner: Runner):
    for mod in (program(1, 2), program(3, 4)):
        assert run_pooled(runner, Memo(), mod) == Memo()(mod)


def test_the_class_of_a_pass_is_what_it_is_when_a_run_begins(runner: Runner):
    class Local(Add):  # it travels by value
        by = 0

        def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
            return func.with_values(value + self.by for value in func.values)

    for Local.by in (1, 5, 1):
        step = Local()
        assert run_pooled(runner, step, program(1, 2)) == step(program(1, 2))
