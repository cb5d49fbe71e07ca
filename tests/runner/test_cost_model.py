from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from parpass.runner import cost_model
from parpass.runner.cost_model import CostModel, SlowdownEstimate, SpeedupModel
from parpass.transform import PassInfo
from tests.support.toy.passes import Add, Keep


def test_the_cost_of_steps_is_known_when_each_of_them_was_measured():
    costs = CostModel()
    costs.update([Add(1)], [2.0], size=4)
    assert costs.of([Add(1)]) == 0.5
    assert costs.of([Add(1), Keep()]) is None
    costs.update([Keep()], [1.0], size=4)
    assert costs.of([Add(1), Keep()]) == 0.75


def test_what_was_measured_last_counts_most():
    costs = CostModel()
    for seconds in (1.0, 3.0, 3.0, 3.0):
        costs.update([Add(1)], [seconds], size=1)
    known = costs.of([Add(1)])
    assert known is not None
    assert 2.5 < known < 3.0


def test_what_took_less_is_believed_at_once():
    costs = CostModel()
    for seconds in (8.0, 2.0):
        costs.update([Add(1)], [seconds], size=1)
    assert costs.of([Add(1)]) == 2.0


def test_what_is_known_is_not_corrected_by_what_workers_take():
    costs = CostModel()
    costs.update([Add(1)], [1.0], size=1)
    costs.update_missing([Add(1), Keep()], [9.0, 9.0], size=1)
    assert costs.of([Add(1)]) == 1.0
    assert costs.of([Keep()]) == 9.0


def test_what_workers_alone_told_of_is_not_known_of_here():
    costs = CostModel()
    costs.update_missing([Keep()], [9.0], size=1)
    assert costs.local_pace([Keep()]) is None
    costs.update([Keep()], [1.0], size=1)
    assert costs.local_pace([Keep()]) == 1.0


def test_a_pass_that_workers_did_not_come_to_stays_unknown():
    costs = CostModel()
    costs.update_missing([Add(1)], [0.0], size=1)
    assert costs.of([Add(1)]) is None


def test_nothing_is_learnt_from_nothing():
    costs = CostModel()
    costs.update([Add(1)], [1.0], size=0)
    assert costs.of([Add(1)]) is None


@pytest.mark.parametrize("workers", [1, 2, 4, 64])
def test_workers_never_save_more_than_the_work(workers: int):
    assert SpeedupModel(workers, 64).saved(1.0, nodes=10, functions=10) < 1.0


def test_work_that_costs_less_than_its_journey_is_not_worth_workers():
    assert SpeedupModel(64, 64).saved(0.001, nodes=10_000, functions=10) < 0


def test_more_workers_than_cores_save_no_more():
    assert SpeedupModel(64, 2).saved(1.0, 10, 10) == SpeedupModel(2, 2).saved(
        1.0, 10, 10
    )
    assert SpeedupModel(2, 1).saved(1.0, nodes=10, functions=10) < 0


@pytest.fixture
def delivered(monkeypatch: pytest.MonkeyPatch) -> SlowdownEstimate:
    new = SlowdownEstimate()
    monkeypatch.setattr(cost_model, "SLOWDOWN", new)
    return new


def test_workers_that_take_longer_than_expected_are_expected_to(
    delivered: SlowdownEstimate,
):
    gain = SpeedupModel(2, 2)
    before = gain.saved(1.0, nodes=10, functions=10)
    assert before > 0
    for _ in range(5):
        delivered.update(expected=0.7, spent=1.4)
    assert gain.saved(1.0, nodes=10, functions=10) < 0


def test_what_was_lost_is_tried_again_after_a_while(delivered: SlowdownEstimate):
    delivered.update(expected=1.0, spent=100.0)
    worst = delivered.slowdown
    tries = 0
    while delivered.slowdown > 1.0 and tries < 1000:
        delivered.decay()
        tries += 1
    assert worst > 2
    assert 10 < tries < 1000


def test_luck_is_not_counted_on(delivered: SlowdownEstimate):
    delivered.update(expected=1.0, spent=0.1)
    assert delivered.slowdown == 1.0


class Named(Add):
    """A pass of any name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.pass_info = PassInfo(0, name)


def test_threads_may_learn_and_forget_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cost_model, "_MAX_PASSES", 10)
    table = CostModel()

    passes = [[[Named(f"{thread}-{at}")] for at in range(500)] for thread in range(4)]

    def learn(thread: int) -> None:
        for _ in range(40):
            for one in passes[thread]:
                table.update(one, [1.0], size=1)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(learn, range(4)))
    finally:
        sys.setswitchinterval(before)
    table.update([Named("last")], [1.0], size=1)
    assert table.of([Named("last")]) == 1.0
