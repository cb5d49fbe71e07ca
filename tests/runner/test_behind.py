"""Workers that are slower than this process would be alone: it takes the rest.

What this process takes is a figure here, which workers surely exceed: no clock of a
machine that is busy with other things can make them faster than their bodies are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from parpass.runner import Runner, cost_model, open_runner, placement
from parpass.runner.cost_model import COST_MODEL, SlowdownEstimate
from parpass.runner.ipc.messages import Job
from parpass.transform import FunctionPass, PassContext, PassInfo, Sequential
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.support.runner.costs import forget_costs
from tests.support.runner.executors import ThreadExecutor, Work
from tests.support.toy.ir import Fn, Program, ToyAdapter, program, values_of
from tests.support.toy.passes import AddFrom

pytestmark = pytest.mark.slow

FUNCTIONS = 400
MOD = program(*range(FUNCTIONS))
HERE = 0.05  # seconds of each pass, that this process is said to take
ASK = PassContext(config={ASKING_WORKERS_SECONDS: 1e-9})


class SlowElsewhere(FunctionPass):
    """Adds 1; takes a millisecond at least where it is not in the main thread."""

    pass_info = PassInfo(0, "SlowElsewhere")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        is_here = threading.current_thread() is threading.main_thread()
        until = time.perf_counter() + (0.0 if is_here else 0.001)
        while time.perf_counter() < until:
            pass
        return func.with_values(value + 1 for value in func.values)


STEPS = [SlowElsewhere(), AddFrom("f0")]


class HoldsTheFirst(ThreadExecutor):
    """Runs its first job once all functions but one have been in others."""

    first: Work | None = None
    done = 0

    def submit(
        self,
        run: Callable[[bytes], bytes],
        job: bytes,
        seconds: float = 0.0,
        *,
        owner: object = None,
    ) -> Future[bytes]:
        with self._changed:
            answer = super().submit(run, job, seconds, owner=owner)
            if self.first is None:
                self.first = self._pending.pop()
        return answer

    def _run(
        self, run: Callable[[bytes], bytes], job: bytes, answer: Future[bytes]
    ) -> None:
        super()._run(run, job, answer)
        self.done += len(Job.decoded(job).functions)
        if self.done == FUNCTIONS and self.first is not None:
            with self._changed:
                self._pending.append(self.first)


def runner_of(executor: ThreadExecutor) -> Generator[Runner]:
    """Yield a runner whose workers are expected to be fast."""
    size = sum(1 + ToyAdapter().size(one, 100) for one in MOD.functions.values())
    forget_costs()
    COST_MODEL.update(STEPS, [HERE, HERE], size)
    executor.start()
    with open_runner(executor=executor) as runner:
        yield runner
    executor.close()
    forget_costs()


@pytest.fixture(autouse=True)
def _as_if_cores_were_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_model, "SLOWDOWN", SlowdownEstimate())
    monkeypatch.setattr(placement, "SLOWDOWN", cost_model.SLOWDOWN)
    monkeypatch.setattr(placement, "_cores", lambda: 16)


@pytest.fixture
def runner() -> Iterator[Runner]:
    """Give a runner whose workers are expected to be fast; a thread stands for them."""
    yield from runner_of(ThreadExecutor(2))


def test_the_rest_is_run_here_and_the_result_is_that_of_a_serial_run(runner: Runner):
    expected = values_of(Sequential(STEPS)(MOD))
    after = runner.run_sync(MOD, STEPS, context=ASK)
    report = runner.last_report
    assert values_of(after) == expected
    assert report is not None
    assert report.jobs > 1
    assert "workers could not keep up" in report.here


def test_what_lost_to_a_serial_run_stays_here_the_next_time(runner: Runner):
    runner.run_sync(MOD, STEPS, context=ASK)
    assert cost_model.SLOWDOWN.slowdown > 1
    cost_model.SLOWDOWN.update(expected=1.0, spent=100.0)  # and so the second time
    runner.run_sync(MOD, STEPS, context=ASK)
    assert runner.last_report is not None
    assert runner.last_report.jobs == 0


def test_what_ends_before_a_giant_does_is_not_taken_back():
    giant = Fn((1,) * 20_000)
    mod, steps = Program({"giant": giant, **MOD.functions}), [SlowElsewhere()]
    with contextmanager(runner_of)(HoldsTheFirst(2)) as runner:
        forget_costs()
        COST_MODEL.update(steps, [10 * HERE], 20_000 + FUNCTIONS)
        after = runner.run_sync(mod, steps, context=ASK)
    assert values_of(after) == values_of(Sequential(steps)(mod))
    assert runner.last_report is not None
    assert runner.last_report.jobs > 2
    assert runner.last_report.here == {}
