"""The progress callback is called for each function that workers finish."""

from __future__ import annotations

import asyncio

import pytest
import trio

from parpass.runner import Progress, Runner, watching_progress
from tests.support.pooled import pooled, run_pooled
from tests.support.toy_ir import Fn, Program
from tests.support.toy_passes import Add


@pytest.mark.slow
def test_each_function_is_reported_once_wherever_a_run_is_awaited(runner: Runner):
    program = Program({f"f{at}": Fn((at,)) for at in range(6)})

    async def awaited() -> None:
        await runner.run(program, Add(), context=pooled())

    for run in (
        lambda: run_pooled(runner, Add(), program),
        lambda: trio.run(awaited),
        lambda: asyncio.run(awaited()),
    ):
        told: list[Progress] = []
        with watching_progress(told.append):
            run()
        assert {one.function for one in told} == {*program.functions}
        assert [one.done for one in told] == [1, 2, 3, 4, 5, 6]
        assert {one.functions for one in told} == {6}
        run()
        assert len(told) == 6  # nobody waits any more
