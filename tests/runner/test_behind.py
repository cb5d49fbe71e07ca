"""Workers that are slower than this process would be alone: it takes the rest.

What this process takes is a figure here, which workers surely exceed: no clock of a
machine that is busy with other things can make them faster than their bodies are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from parpass.runner import Runner, cost_model, open_runner, placement
from parpass.runner.cost_model import COST_MODEL, SlowdownEstimate
from parpass.transform import FunctionPass, PassContext, PassInfo, Sequential
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.support.runner.executors import ThreadExecutor
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


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """Give a runner whose workers are expected to be fast; a thread stands for them."""
    monkeypatch.setattr(cost_model, "SLOWDOWN", SlowdownEstimate())
    monkeypatch.setattr(placement, "SLOWDOWN", cost_model.SLOWDOWN)
    monkeypatch.setattr(placement, "_cores", lambda: 16)
    size = sum(1 + ToyAdapter().size(one, 100) for one in MOD.functions.values())
    COST_MODEL.forget(STEPS)
    COST_MODEL.update(STEPS, [HERE, HERE], size)
    executor = ThreadExecutor(2)
    executor.start()
    with open_runner(executor=executor) as runner:
        yield runner
    executor.close()
    COST_MODEL.forget(STEPS)


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
