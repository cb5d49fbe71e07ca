"""What a run has made is freed without the garbage collector, which would halt all."""

from __future__ import annotations

import asyncio
import gc
import os
import select
import weakref
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pytest

from parpass.runner import Runner
from parpass.transform import ModulePass, Pass, PassContext, PassInfo
from tests.conftest import RunnerOf
from tests.support.other_processes import until
from tests.support.runner.pooled import new_pipe, run_pooled
from tests.support.toy.hard_passes import TellsItsEnd
from tests.support.toy.ir import Program, program, values_of
from tests.support.toy.passes import Add, AddFrom


@pytest.fixture
def no_collector() -> Generator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("dispatch_overhead", [0.0, 1e-4, 1e6])
def test_the_new_module_goes_with_its_last_reference(
    dispatch_overhead: float, runner: Runner
):
    steps = [Add(), AddFrom("f0")]
    config = {"parpass.asking_workers_seconds": dispatch_overhead}
    new = runner.run_sync(
        program(*range(50)), steps, context=PassContext(config=config)
    )
    made = [weakref.ref(new), *map(weakref.ref, new.functions.values())]
    del new
    # A thread that handed a part of it on has it until it has a core again.
    until(lambda: not any(one() for one in made))


class Replace(ModulePass):
    """Gives a new module, and takes down which of the earlier ones are still there."""

    pass_info = PassInfo(0, "Replace")

    def __init__(self) -> None:
        self.made: list[weakref.ref[Program]] = []
        self.alive: list[bool] = []

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        self.alive = [one() is not None for one in self.made]
        new = program(*range(20))
        self.made.append(weakref.ref(new))
        return new


def run_blocking(runner: Runner, steps: Sequence[Pass], context: PassContext) -> None:
    runner.run_sync(program(1), steps, context=context)


def run_awaited(runner: Runner, steps: Sequence[Pass], context: PassContext) -> None:
    asyncio.run(runner.run(program(1), steps, context=context))


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("run", [run_blocking, run_awaited])
def test_the_module_of_a_stage_goes_with_the_next_stage(
    run: Callable[[Runner, Sequence[Pass], PassContext], None], runner: Runner
):
    replace = Replace()
    config = {"parpass.asking_workers_seconds": 0.0}
    steps = [replace, Add(), replace, replace, Add(), replace, replace]
    run(runner, steps, PassContext(config=config))
    assert not replace.alive[0]


@pytest.mark.slow
def test_a_warm_worker_lets_go_of_passes_when_their_stage_is_over(
    runner_of: RunnerOf, tmp_path: Path
):
    path = new_pipe(tmp_path)
    mod = run_pooled(runner_of(1), TellsItsEnd(str(path)), program(1))
    (values,) = values_of(mod).values()
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK)) as told:
        assert select.select([told], [], [], 60)[0]
        assert told.read() == str(values[-1])


@pytest.mark.usefixtures("no_collector")
def test_a_runner_goes_with_its_last_reference_after_a_run():
    runner = Runner(workers=0)
    runner.run_sync(program(1), Add(1))
    gone = weakref.ref(runner)
    del runner
    assert gone() is None
