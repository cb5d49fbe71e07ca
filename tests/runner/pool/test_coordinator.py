from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import RuntimeUseError, SlowerRunWarning, WorkerDiedError
from parpass.runner import open_runner
from parpass.runner.pool import scheduler
from parpass.runner.pool.coordinator import LossCheck
from parpass.transform import Pass, Sequential
from tests.support.profiles import examples
from tests.support.runner.executors import Die, ThreadExecutor
from tests.support.runner.pooled import folders, pooled
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add, AddFrom, FailOn, Keep


def jobs_until_too_much(
    losses: LossCheck, seconds: float, shares: Sequence[float], workers: int = 2
) -> int | None:
    """Return how many jobs end before too much is lost; None if that never is.

    Workers take so many seconds each for a job, and begin one when the last one ends.
    """
    done = 0.0
    for at, share in enumerate(shares):
        done += share
        losses.job_finished(at % workers, (at // workers + 1) * seconds, done)
        if losses.is_too_much:
            return at + 1
    return None


TENTHS = [0.1] * 10
HUNDREDTHS = [0.01] * 100


@pytest.mark.parametrize("seconds", [0.1, 0.2, 0.209])
def test_workers_that_gain_or_lose_little_keep_their_functions(seconds: float):
    assert jobs_until_too_much(LossCheck(1.0), seconds, TENTHS) is None


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("slowdown", [1.23, 1.57, 3.1])
def test_what_is_lost_is_a_twentieth_and_a_job_however_slow_workers_are(
    workers: int, slowdown: float
):
    seconds = 10.0 * slowdown * workers / 100
    count = jobs_until_too_much(LossCheck(10.0), seconds, HUNDREDTHS, workers)
    assert count is not None
    lost = (count - workers) * 0.1 * (slowdown - 1)
    assert 0.49 < lost <= 0.5 + 0.1 * slowdown


def test_a_slow_beginning_is_forgiven_while_it_costs_less_than_that():
    losses, now, lost = LossCheck(10.0), 0.0, list[bool]()
    for at in range(20):  # a hundredth takes 0.1 seconds here
        now += 0.15 if at < 8 else 0.06
        losses.job_finished(1, now, 0.01 * (at + 1))
        lost.append(losses.is_too_much)
    assert lost == [False] * 20


def test_the_first_job_of_each_worker_does_not_count():
    losses = LossCheck(1.0)
    for worker, began in enumerate([100.0, 300.0, 500.0]):
        losses.job_finished(worker, began, 0.1 * (worker + 1))
        assert not losses.is_too_much


def test_a_worker_that_waits_for_jobs_loses_time_too():
    losses = LossCheck(1.0)
    losses.job_finished(1, 0.0, 0.1)
    losses.job_finished(1, 0.9, 0.2)
    assert losses.is_too_much


def test_a_pause_of_the_machine_is_not_much():
    assert jobs_until_too_much(LossCheck(1e-6), 0.01, TENTHS[:5]) is None


def test_nothing_is_lost_against_what_is_not_known():
    assert jobs_until_too_much(LossCheck(None), 100.0, TENTHS) is None


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


def test_an_error_for_hosts_that_keep_dying_names_the_cause_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(scheduler, "_MAX_EXTERNAL_KILLS", 0)
    executor = ThreadExecutor(dies_with_host=True)
    message = r"before they can begin \(SIGKILL\(-9\)\); the system may be out of mem"
    with pytest.raises(RuntimeUseError, match=message):
        run_on(executor, program(1), [Die(1)])


def test_a_stage_that_cannot_go_on_ends_its_jobs_alone_and_is_run_here():
    executor = ThreadExecutor()
    lock: Any = threading.Lock()
    odd = Program({"f0": Fn((1,)), "odd": Fn((lock,), skip=True)})
    with pytest.warns(SlowerRunWarning, match="sent function 'odd'"):
        mod = run_on(executor, odd, [Add(1)])
    assert values_of(mod) == {"f0": (2,), "odd": (lock,)}
    assert "kill" not in executor.log
