"""Workers that are slower than this process would be alone: it takes the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from parpass.runner import Runner, open_runner
from parpass.runner.placing import costs, forecasts
from parpass.runner.placing.costs import COSTS, Delivered
from parpass.transform import FunctionPass, PassContext, PassInfo, Sequential
from parpass.transform.config import ASKING_WORKERS_SECONDS
from tests.support.executors import ThreadExecutor
from tests.support.toy_ir import Fn, Program, program, values_of
from tests.support.toy_passes import AddFrom

pytestmark = pytest.mark.slow

MOD = program(*range(300))


class SlowElsewhere(FunctionPass):
    """Adds 1; takes ten times as long where it is not in the main thread."""

    pass_info = PassInfo(0, "SlowElsewhere")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        is_here = threading.current_thread() is threading.main_thread()
        until = time.perf_counter() + (0.001 if is_here else 0.01)
        while time.perf_counter() < until:
            pass
        return func.with_values(value + 1 for value in func.values)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """Give a runner whose workers are expected to be fast; a thread stands for them."""
    monkeypatch.setattr(costs, "DELIVERED", Delivered())
    monkeypatch.setattr(forecasts, "DELIVERED", costs.DELIVERED)
    monkeypatch.setattr(forecasts, "_cores", lambda: 16)
    executor = ThreadExecutor(2)
    executor.start()
    with open_runner(executor=executor) as runner:
        yield runner
    executor.close()


def test_the_rest_is_run_here_and_the_result_is_that_of_a_serial_run(runner: Runner):
    steps = [SlowElsewhere(), AddFrom("f0")]
    expected = values_of(Sequential(steps)(MOD))
    COSTS.forget(steps)
    here = PassContext(opt_level=0, config={ASKING_WORKERS_SECONDS: 1e9})
    some = program(*range(40))
    runner.run_sync(some, steps, context=here)  # what they cost here becomes known
    after = runner.run_sync(MOD, steps)
    report = runner.last_report
    assert values_of(after) == expected
    assert report is not None
    assert report.jobs > 1
    assert "workers that were behind" in report.here
    assert costs.DELIVERED.drag > 1


@pytest.mark.parametrize("is_known", [True, False])
def test_what_lost_to_a_serial_run_stays_here_the_next_time(
    runner: Runner, *, is_known: bool
):
    steps = [SlowElsewhere(), AddFrom("f0")]
    COSTS.forget(steps)
    if is_known:
        runner.run_sync(program(*range(4)), steps)
    jobs: list[int] = []
    for _ in range(3):
        runner.run_sync(MOD, steps)
        assert runner.last_report is not None
        jobs.append(runner.last_report.jobs)
    assert jobs[0] > 0
    assert jobs[1:] == [0, 0]
