"""A runner that is shared: what others do on it, and on the machine, costs no more."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator

import pytest
import trio

from parpass.errors import WorkerDiedError
from parpass.runner import Runner, open_runner
from parpass.runner.cores import usable_cores
from parpass.transform import FunctionPass, PassContext, PassInfo, Sequential
from tests.stress.test_stress import nothing_left, times
from tests.support.runner.pooled import pooled
from tests.support.toy.ending import EndIn
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add, Toil

pytestmark = pytest.mark.stress

Report = Callable[[str, str], None]


class Wait(FunctionPass):
    """Takes some time on a function, and no core."""

    pass_info = PassInfo(0, "Wait")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        threading.Event().wait(0.01)
        return func.with_values(value + 1 for value in func.values)


MOD = program(*range(600))
EXPECTED = values_of(Sequential([Add(1)])(MOD))


def seconds_of_a_run(runner: Runner) -> float:
    began = time.perf_counter()
    assert values_of(runner.run_sync(MOD, Wait(), context=pooled())) == EXPECTED
    return time.perf_counter() - began


@contextlib.contextmanager
def neighbour(do: Callable[[], None]) -> Generator[list[int]]:
    """Have somebody do something again and again; give how often it was done."""
    over, done = threading.Event(), [0]

    def go_on() -> None:
        while not over.is_set():
            do()
            done[0] += 1

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield done
    finally:
        over.set()
        thread.join()


def crash(runner: Runner) -> None:
    with pytest.raises(WorkerDiedError):
        runner.run_sync(program(1), EndIn("segfault", 1), context=pooled())
    threading.Event().wait(0.7)


def cancel(runner: Runner) -> None:
    async def main() -> None:
        with trio.move_on_after(0.1):
            await runner.run(program(1), EndIn("hang", 1), context=pooled())
        await trio.sleep(0.6)

    trio.run(main)


@pytest.mark.parametrize("do", [crash, cancel])
def test_a_neighbour_that_fails_costs_little(
    do: Callable[[Runner], None], report: Report
):
    with nothing_left(), open_runner(workers=4) as runner:
        seconds_of_a_run(runner)
        undisturbed = [seconds_of_a_run(runner) for _ in range(times(3))]
        with neighbour(lambda: do(runner)) as done:
            disturbed = [seconds_of_a_run(runner) for _ in range(times(5))]
    alone, beside = statistics.median(undisturbed), statistics.median(disturbed)
    report(
        f"600 functions that wait 10 ms, beside a neighbour's runs that {do.__name__}",
        f"{beside:.1f} s, {beside / alone:.2f} x of {alone:.1f} s undisturbed; "
        f"{done[0]} such runs meanwhile",
    )


def test_while_other_programs_keep_the_cores_busy_runs_are_right(report: Report):
    mod = program(*range(400))
    steps = [Toil(0.002), Add(1)]
    expected = values_of(Sequential(steps)(mod))
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range(2 * usable_cores())]
    try:
        with nothing_left(), open_runner(workers=2) as runner:
            began = time.perf_counter()
            for _ in range(times(5)):
                after = runner.run_sync(mod, steps, context=pooled())
                assert values_of(after) == expected
            spent = time.perf_counter() - began
    finally:
        for one in others:
            one.kill()
            one.wait()
    report(f"{times(5)} runs beside {len(others)} busy programs", f"{spent:.1f} s")
