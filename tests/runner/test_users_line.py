"""Warnings of parpass itself point at the line of the user's that they come from."""

from __future__ import annotations

import asyncio
import inspect
import linecache
import threading
from collections.abc import Callable, Sequence

import pytest
import trio

from parpass.errors import (
    BlockedLoopWarning,
    BudgetWarning,
    PassNameWarning,
    PassStateWarning,
    UnpicklablePassWarning,
)
from parpass.runner import open_runner, run_pipeline, run_pipeline_sync
from parpass.transform import FunctionPass, ModulePass, Pass, PassContext, PassInfo
from tests.support.runner.notebook import prompt
from tests.support.runner.pooled import POOLED
from tests.support.toy.hard_passes import Remember
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add

MOD = program(*range(6))
CONTEXT = PassContext(config=POOLED)


class Locked(FunctionPass):
    """Cannot travel."""

    pass_info = PassInfo(0, "Locked")

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func


class Limited(Add):
    """May not take much memory, which nobody can enforce in process."""

    memory_limit = 1 << 30


class Runs(ModulePass):
    """Runs another pass in its body."""

    pass_info = PassInfo(0, "Runs")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        return Limited(1)(mod)  # here


def serially(passes: Sequence[Pass]) -> None:
    passes[0](MOD)  # here


def blocking(passes: Sequence[Pass]) -> None:
    run_pipeline_sync(MOD, passes, context=CONTEXT, workers=1)  # here


def in_process(passes: Sequence[Pass]) -> None:
    run_pipeline_sync(MOD, passes, context=CONTEXT, workers=0)  # here


def under_trio(passes: Sequence[Pass]) -> None:
    async def main() -> None:
        await run_pipeline(MOD, passes, context=CONTEXT, workers=1)  # here

    trio.run(main)


def under_asyncio(passes: Sequence[Pass]) -> None:
    async def main() -> None:
        await run_pipeline(MOD, passes, context=CONTEXT, workers=1)  # here

    asyncio.run(main())


def in_process_under_trio(passes: Sequence[Pass]) -> None:
    async def main() -> None:
        await run_pipeline(MOD, passes, context=CONTEXT, workers=0)  # here

    trio.run(main)


def in_process_under_asyncio(passes: Sequence[Pass]) -> None:
    async def main() -> None:
        await run_pipeline(MOD, passes, context=CONTEXT, workers=0)  # here

    asyncio.run(main())


ELSEWHERE = [blocking, under_trio, under_asyncio]
HERE = [serially, in_process, in_process_under_trio, in_process_under_asyncio]


@pytest.mark.slow
@pytest.mark.parametrize("run", ELSEWHERE)
def test_of_what_workers_cannot_do(run: Callable[[Sequence[Pass]], None]):
    with pytest.warns((UnpicklablePassWarning, PassStateWarning)) as caught:
        run([Locked(), Remember()])
    categories = {warned.category for warned in caught}
    assert categories == {UnpicklablePassWarning, PassStateWarning}
    for warned in caught:
        assert is_in(run, warned.filename, warned.lineno)


@pytest.mark.parametrize("run", HERE)
def test_of_limits_that_nobody_enforces(run: Callable[[Sequence[Pass]], None]):
    with pytest.warns(BudgetWarning) as caught:
        run([Limited(1)])
    assert is_in(run, caught[0].filename, caught[0].lineno)


@pytest.mark.parametrize("run", HERE)
def test_a_body_that_runs_passes_is_the_users_too(
    run: Callable[[Sequence[Pass]], None],
):
    with pytest.warns(BudgetWarning) as caught:
        run([Runs()])
    assert is_in(Runs, caught[0].filename, caught[0].lineno)


@pytest.mark.parametrize("run", [*ELSEWHERE, *HERE])
def test_of_names_that_no_pass_has(
    run: Callable[[Sequence[Pass]], None], monkeypatch: pytest.MonkeyPatch
):
    context = PassContext(disabled_pass=["Adds"], config=POOLED)
    monkeypatch.setitem(globals(), "CONTEXT", context)
    with context, pytest.warns(PassNameWarning, match="mean 'Add'") as caught:
        run([Add(1)])
    [warned] = caught
    assert is_in(run, warned.filename, warned.lineno)


def blocking_a_loop(passes: Sequence[Pass]) -> None:
    async def main() -> None:
        run_pipeline_sync(MOD, passes, workers=0)  # here

    asyncio.run(main())


def blocking_a_loop_by_a_runner(passes: Sequence[Pass]) -> None:
    async def main() -> None:
        with open_runner(workers=0) as runner:
            runner.run_sync(MOD, passes)  # here

    asyncio.run(main())


@pytest.mark.parametrize("run", [blocking_a_loop, blocking_a_loop_by_a_runner])
def test_of_an_event_loop_that_stands_still(run: Callable[[Sequence[Pass]], None]):
    with pytest.warns(BlockedLoopWarning, match="write 'await parpass.run_") as caught:
        run([Add(1)])
    assert is_in(run, caught[0].filename, caught[0].lineno)


def test_in_a_notebook_that_is_no_matter():
    with prompt():
        blocking_a_loop([Add(1)])


def test_a_thread_beside_the_loop_blocks_nothing():
    async def main() -> None:
        await asyncio.to_thread(in_process, [Add(1)])

    asyncio.run(main())


def is_in(where: object, filename: str, lineno: int) -> bool:
    """Return whether a line is the marked one of a function or class of this file."""
    lines, first = inspect.getsourcelines(where)  # pyright: ignore[reportArgumentType]
    is_inside = first <= lineno < first + len(lines)
    marked = linecache.getline(filename, lineno).rstrip().endswith("# here")
    return filename == __file__ and is_inside and marked
