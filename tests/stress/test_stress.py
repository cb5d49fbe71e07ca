"""Breaking things on purpose, for long; CONTRIBUTING.md has the command.

`PARPASS_STRESS`, a fraction such as 0.1, shortens all of it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import statistics
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parpass.errors import WorkerDiedError, other_failures
from parpass.runner import Runner, open_runner
from parpass.transform import Sequential
from tests.support.runner.executors import ThreadExecutor
from tests.support.runner.pooled import (
    POOLED,
    child_processes,
    folders,
    pooled,
    settled_processes,
)
from tests.support.toy.ending import EndIn
from tests.support.toy.ir import Program, program, values_of
from tests.support.toy.passes import Add, AddFrom, Toil
from tests.support.toy.pipelines import pipelines, programs, see

pytestmark = pytest.mark.stress

Report = Callable[[str, str], None]

SHARE = float(os.environ.get("PARPASS_STRESS", "1"))


def times(count: int) -> int:
    return max(1, round(count * SHARE))


@contextlib.contextmanager
def nothing_left() -> Generator[None]:
    """Check that afterwards there are no more processes and folders than before."""
    processes, kept = settled_processes(), folders()
    yield
    deadline = time.monotonic() + 5
    while child_processes() - processes and time.monotonic() < deadline:
        time.sleep(0.01)
    assert child_processes() <= processes
    assert folders() <= kept


class Killer(threading.Thread):
    """Kills a worker of this process at random moments, a number of times.

    Often they have not yet begun: starting them takes a second where cores are busy.
    """

    def __init__(self, kills: int, others: set[int]) -> None:
        super().__init__(daemon=True)
        self.left = kills
        self.others = others

    def run(self) -> None:
        draw = random.Random(7)
        while self.left:
            time.sleep(draw.uniform(0.05, 2.0))
            workers = sorted(child_processes() - self.others)
            if workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(draw.choice(workers), signal.SIGKILL)
                    self.left -= 1


def test_workers_that_are_killed_at_random_cost_nothing_but_time(report: Report):
    kills, runs, began = times(200), 0, time.monotonic()
    mod = program(*range(2000))
    steps = [Toil(), AddFrom("f0"), Toil()]
    expected = values_of(Sequential(steps)(mod))
    with nothing_left(), open_runner(workers=2) as runner:
        killer = Killer(kills, child_processes())
        killer.start()
        while killer.left:
            assert values_of(runner.run_sync(mod, steps, context=pooled())) == expected
            runs += 1
    spent = time.monotonic() - began
    report(
        f"{kills} SIGKILLs at random moments over runs of 2,000 functions",
        f"{runs} runs in {spent:.0f} s, all equal to serial; 0 orphans, 0 files left",
    )


@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_of_three_of_five_hundred_that_segfault_the_first_is_named(
    policy: str, report: Report
):
    mod, began = program(*range(500)), time.monotonic()
    step = EndIn("segfault", 17, 250, 499)
    with nothing_left(), open_runner(workers=4) as runner:
        if policy == "skip":
            after = runner.run_sync(mod, step, context=pooled(), on_failure="skip")
            same = [n for n, fn in after.functions.items() if fn == mod[n]]
            assert same == ["f17", "f250", "f499"]
            figure = "those 3 left alone with a warning, 497 done"
        else:
            with pytest.raises(WorkerDiedError) as caught:
                runner.run_sync(mod, step, context=pooled())
            errors = [caught.value, *other_failures(caught.value)]
            named = [getattr(error, "function", None) for error in errors]
            assert named[0] == "f17"
            assert {*named} <= {"f17", "f250", "f499"}
            figure = "the first named"
    spent = time.monotonic() - began
    what = f"a pass that segfaults on 3 of 500 functions, {policy}"
    report(what, f"{figure}, {spent:.1f} s")


def test_cancellations_return_at_once_and_leave_a_runner_that_works(report: Report):
    count, draw, late = times(500), random.Random(5), list[float]()
    mod, steps = program(*range(200)), [Toil(0.005), Add(1), Toil(0.005)]
    small = program(1, 2, 3)

    async def cancel_one(runner: Runner) -> None:
        delay = draw.uniform(0, 1.0)
        with trio.move_on_after(delay) as scope:
            await runner.run(mod, steps, context=pooled())
        if scope.cancelled_caught:
            late.append(trio.current_time() - scope.deadline)
        after = await runner.run(small, Add(1), context=pooled())
        assert values_of(after) == values_of(program(2, 3, 4))

    async def main() -> None:
        async with open_runner(workers=4) as runner:
            while len(late) < count:
                await cancel_one(runner)

    with nothing_left():
        trio.run(main)
    median, worst = statistics.median(late), max(late)
    report(
        f"{count} cancellations at random moments",
        f"median {median * 1e3:.0f} ms, worst {worst * 1e3:.0f} ms, nothing left",
    )
    assert median < 0.1
    assert statistics.quantiles(late, n=100)[-1] < 1.0  # the worst may be the machine's


def resident() -> int:
    """Return the bytes of memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def held() -> tuple[int, int, int]:
    """Return how many processes, file descriptors and threads there are."""
    descriptors = len(os.listdir("/proc/self/fd"))
    return len(child_processes()), descriptors, threading.active_count()


def test_many_runs_on_one_runner_do_not_add_up(report: Report):
    runs = max(200, times(1000))
    mod, steps = program(*range(50)), [Add(1), AddFrom("f0")]
    expected = values_of(Sequential(steps)(mod))
    with nothing_left(), open_runner(workers=2) as runner:
        early, at_first = held(), resident()
        for number in range(runs):
            after = runner.run_sync(mod, steps, context=pooled())
            assert values_of(after) == expected
            if number == 100:
                early, at_first = held(), resident()
        late, at_last = held(), resident()
    grown = (at_last - at_first) / 1e6
    report(
        f"{runs} runs on one runner",
        f"processes, descriptors, threads {early} after 100 runs, {late} at the end; "
        f"memory {grown:+.1f} MB",
    )
    assert all(now <= then for now, then in zip(late, early, strict=True))
    assert grown < 20


def test_serial_equals_parallel_on_generated_triples(report: Report):
    examples, began = times(10_000), time.monotonic()

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(mod=programs(), pipeline=pipelines(), seed=st.integers(0, 2**32))
    def check(mod: Program, pipeline: Sequential, seed: int) -> None:
        executor = ThreadExecutor(3, seed, deaths=seed % 3)
        serial = see(pipeline, mod)
        runner = open_runner(executor=executor)
        parallel = see(
            pipeline,
            mod,
            run=lambda root, given_mod: runner.run_sync(given_mod, root),
            settings={"config": POOLED},
        )
        runner.close()
        executor.close()
        assert parallel == serial

    check()
    spent = time.monotonic() - began
    report(
        f"{examples:,} generated (module, pipeline, schedule) triples",
        f"serial equals parallel, {spent:.0f} s",
    )


class Request:
    """What a host leaves behind for each request: garbage that refers to itself."""

    alive = 0
    most = 0

    def __init__(self) -> None:
        self.itself, self.content = self, bytearray(100_000)
        self.parts: list[list[int]] = [[] for _ in range(200)]
        Request.alive += 1
        Request.most = max(Request.most, Request.alive)

    def __del__(self) -> None:
        Request.alive -= 1


def test_the_garbage_of_a_host_waits_no_longer_where_it_calls_passes(report: Report):
    requests, mod, step = max(300, times(3000)), program(1, 2), Add(1)
    most: dict[str, int] = {}
    with open_runner(workers=2) as runner:
        runs: dict[str, Callable[[], object]] = {
            "no pass": lambda: None,
            "a pass": lambda: step(mod),
            "a run here": lambda: runner.run_sync(mod, step),
            "a run by workers": lambda: runner.run_sync(mod, step, context=pooled()),
        }
        for name, run in runs.items():
            gc.collect()
            Request.alive = Request.most = 0
            for _ in range(requests):
                Request()
                run()
            most[name] = Request.most
    found = ", ".join(f"{name}: {count}" for name, count in most.items())
    report(
        f"garbage of {requests:,} requests that waits at most, by what they call", found
    )
    assert max(most.values()) < 2 * most["no pass"]
