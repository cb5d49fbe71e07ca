from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import RuntimeUseError, SlowerRunWarning, WorkerDiedError
from parpass.runner import open_runner
from parpass.runner.pool.coordinator import ThroughputCheck
from parpass.transform import Pass, Sequential
from tests.support.profiles import examples
from tests.support.runner.executors import Die, ThreadExecutor
from tests.support.runner.pooled import folders, pooled
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add, AddFrom, FailOn, Keep


def behind_at(
    headway: ThroughputCheck, seconds: float, shares: list[float]
) -> int | None:
    """Return at which of some jobs, of so many seconds each, workers are behind."""
    for at, share in enumerate(shares):
        headway.job_finished(seconds)
        if headway.is_behind(share):
            return at
    return None


TENTHS = [at / 10 for at in range(1, 11)]


@pytest.mark.parametrize("seconds", [0.11, 0.2, 0.219])
def test_workers_that_are_faster_than_this_process_are_not_behind(seconds: float):
    assert behind_at(ThroughputCheck(2, local_seconds=1.0), seconds, TENTHS) is None


def test_workers_that_are_slower_are_behind_as_soon_as_enough_is_known():
    assert behind_at(ThroughputCheck(2, local_seconds=1.0), 0.23, TENTHS) == 5
    assert behind_at(ThroughputCheck(3, local_seconds=1.0), 1.0, TENTHS) == 6


def test_the_first_job_of_each_worker_does_not_count():
    headway = ThroughputCheck(2, local_seconds=1.0)
    assert behind_at(headway, 100.0, [0.01, 0.02]) is None
    assert behind_at(headway, 0.1, [0.1 + at for at in TENTHS[:8]]) is None


def test_little_time_tells_nothing():
    assert behind_at(ThroughputCheck(2, local_seconds=1e-6), 0.01, TENTHS) is None


def test_nobody_is_behind_what_is_not_known():
    assert behind_at(ThroughputCheck(2, local_seconds=None), 100.0, TENTHS) is None


def run_on(executor: ThreadExecutor, mod: Program, passes: Sequence[Pass]) -> Any:
    """Run a pipeline on an executor, and check that nothing is left of it."""
    before = folders()
    try:
        with open_runner(executor=executor) as runner:
            return runner.run_sync(mod, list(passes), context=pooled())
    finally:
        executor.close()
        assert folders() <= before


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), functions=st.integers(1, 40))
@examples(0.75)
def test_the_order_in_which_jobs_end_does_not_show(seed: int, functions: int):
    mod = program(*range(functions))
    passes = [Add(1), AddFrom("f0"), Keep(), Add(2)]
    expected = values_of(Sequential(passes)(mod))
    assert values_of(run_on(ThreadExecutor(3, seed), mod, passes)) == expected


def test_a_function_that_kills_is_blamed_with_pass_and_cause():
    with pytest.raises(WorkerDiedError) as caught:
        run_on(ThreadExecutor(), program(*range(6)), [Add(1), Die(4), Add(1)])
    error = caught.value
    assert (error.pass_name, error.function) == ("Die", "f3")
    assert error.cause == "SIGKILL(-9)"


def test_of_several_killers_the_first_in_the_module_is_told():
    for seed in range(4):
        mod = Program({name: Fn((at % 3,)) for at, name in enumerate("abcdefgh")})
        with pytest.raises(WorkerDiedError) as caught:
            run_on(ThreadExecutor(2, seed), mod, [Die(2)])
        assert caught.value.function == "c"


def test_an_error_that_serial_would_have_met_first_goes_before_a_death():
    for passes in ([FailOn(1), Die(3)], [FailOn(1, KeyError), Die(0)]):
        with pytest.raises((ValueError, KeyError)) as caught:
            run_on(ThreadExecutor(), program(*range(4)), passes)
        assert caught.value.__notes__ == ["in pass 'FailOn', on function 'f1'"]


def test_workers_that_die_before_they_begin_are_no_functions_fault():
    with pytest.raises(RuntimeUseError, match=r"before they can begin \(SIGKILL\(-9\)"):
        run_on(ThreadExecutor(dies_at_once=True), program(*range(4)), [Add(1)])


def test_a_stage_that_cannot_go_on_ends_its_jobs_alone_and_is_run_here():
    executor = ThreadExecutor()

    class Local:
        pass

    local: Any = Local
    odd = Program({"f0": Fn((1,)), "odd": Fn((local,), skip=True)})
    with pytest.warns(SlowerRunWarning, match="sent function 'odd'"):
        mod = run_on(executor, odd, [Add(1)])
    assert values_of(mod) == {"f0": (2,), "odd": (local,)}
    assert "kill" not in executor.log
