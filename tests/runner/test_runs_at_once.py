"""Several runs on one runner, some of which kill workers: the others see nothing of it.

They share a pool, and whatever ends a worker ends all that were at work in it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
import trio

from parpass.errors import FunctionTimeoutError, WorkerDiedError
from parpass.runner import Runner, open_runner
from parpass.transform import Pass, Sequential
from tests.support.runner.pooled import (
    child_processes,
    folders,
    pooled,
    settled_processes,
)
from tests.support.toy.ending import EndIn
from tests.support.toy.ir import program, values_of
from tests.support.toy.passes import Add, AddFrom, Toil

pytestmark = pytest.mark.slow

MOD = program(*range(20))
STEPS: list[Pass] = [Toil(0.002), AddFrom("f0"), Add(3)]
EXPECTED = values_of(Sequential(STEPS)(MOD))
CRASHES = [Add(1), EndIn("segfault", 8)]
HANGS = [Add(1), EndIn("hang", 9)]
LIMIT = 0.2  # seconds


@pytest.fixture
def own_runner() -> Iterator[Runner]:
    """Give a runner that nobody else uses; check that nothing is left of it."""
    processes, kept = settled_processes(), folders()
    with open_runner(workers=2) as runner:
        yield runner
        settled_processes()  # one that hung is replaced when it has ended, by a run
        after = runner.run_sync(MOD, STEPS, context=pooled())
        assert values_of(after) == EXPECTED
        assert len(settled_processes() - processes) == 2
    assert folders() <= kept
    assert child_processes() <= processes


def check_crash(error: BaseException | None) -> None:
    assert isinstance(error, WorkerDiedError)
    assert (error.pass_name, error.function) == ("EndIn", "f7")
    assert error.cause == "SIGSEGV(-11)"


def test_from_threads(own_runner: Runner):
    over = threading.Event()

    def run(steps: Any, **limits: Any) -> Any:
        return own_runner.run_sync(MOD, steps, context=pooled(), **limits)

    def run_well() -> int:
        runs = 0
        while not (over.is_set() and runs):
            assert values_of(run(STEPS)) == EXPECTED
            runs += 1
        return runs

    with ThreadPoolExecutor(5) as threads:
        well: list[Future[int]] = [threads.submit(run_well) for _ in range(2)]
        hang = threads.submit(run, HANGS, function_timeout=LIMIT)
        error = hang.exception()
        over.set()
        assert isinstance(error, FunctionTimeoutError)
        assert (error.pass_name, error.function) == ("EndIn", "f8")
        assert all(one.result() for one in well)


async def test_from_trio_tasks(own_runner: Runner):
    over = trio.Event()
    runs: list[int] = []

    async def run_well() -> None:
        async for _ in until(over):
            after = await own_runner.run(MOD, STEPS, context=pooled())
            assert values_of(after) == EXPECTED
            runs.append(1)

    async def fail() -> None:
        with pytest.raises(WorkerDiedError) as crash:
            await own_runner.run(MOD, CRASHES, context=pooled())
        check_crash(crash.value)
        for seconds in (0.0, 0.2):
            with trio.move_on_after(seconds) as scope:
                await own_runner.run(MOD, HANGS, context=pooled())
            assert scope.cancelled_caught
        over.set()

    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(run_well)
        nursery.start_soon(fail)
    assert len(runs) >= 2


def test_from_asyncio_tasks(own_runner: Runner):
    async def run_well(over: asyncio.Event) -> int:
        runs = 0
        async for _ in until(over):
            after = await own_runner.run(MOD, STEPS, context=pooled())
            assert values_of(after) == EXPECTED
            runs += 1
        return runs

    async def main() -> list[int]:
        over = asyncio.Event()
        well = [asyncio.create_task(run_well(over)) for _ in range(2)]
        with pytest.raises(WorkerDiedError) as crash:
            await own_runner.run(MOD, CRASHES, context=pooled())
        check_crash(crash.value)
        for seconds in (0.0, 0.2):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(seconds):
                    await own_runner.run(MOD, HANGS, context=pooled())
        over.set()
        return await asyncio.gather(*well)

    assert all(asyncio.run(main()))


async def until(over: trio.Event | asyncio.Event) -> AsyncIterator[None]:
    """Go round at least once, and until it is over."""
    while True:
        yield
        if over.is_set():
            return
