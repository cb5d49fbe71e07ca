"""Forecasts of what stages take, and what is learnt from wrong ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from parpass.runner.placing import costs, forecasts
from parpass.runner.placing.costs import COSTS, Delivered
from parpass.runner.placing.forecasts import (
    Forecast,
    Ledger,
    Place,
    best_place,
    correct,
    seconds_here,
)
from parpass.transform import FunctionPass, PassContext, PassInfo
from parpass.transform.budget import UNLIMITED
from parpass.transform.plan.commands import StageResult, StepRecord
from tests.support.executors import ThreadExecutor
from tests.support.toy_ir import Fn, Program, ToyAdapter, program


class NeverMeasured(FunctionPass):
    """Adds 1; no other test runs it, so what it costs is what these say."""

    pass_info = PassInfo(0, "NeverMeasured")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values(value + 1 for value in func.values)


STEPS = [NeverMeasured()]
MOD = program(1, 2, 3)
ADAPTER = ToyAdapter()
CONTEXT = PassContext()
SIZE = sum(1 + ADAPTER.size(one, 100) for one in MOD.functions.values())


@pytest.fixture
def known() -> Iterator[float]:
    """What the step is taken to cost for a unit, from an unlucky moment."""
    COSTS.forget(STEPS)
    COSTS.learn(STEPS, [4.0], size=4)
    yield 1.0
    COSTS.forget(STEPS)


def ran(seconds: float) -> StageResult:
    return StageResult(
        MOD, [StepRecord("NeverMeasured", seconds=seconds)], 0.0, seconds
    )


def test_a_forecast_that_was_much_too_high_is_corrected_at_once(known: float):
    correct(Forecast(Place.HERE, 4.0), STEPS, MOD, ran(0.001), ADAPTER)
    now = COSTS.of(STEPS)
    assert now is not None
    assert now < known / 100


def test_a_forecast_that_was_nearly_right_is_kept(known: float):
    correct(Forecast(Place.HERE, 4.0), STEPS, MOD, ran(4.5), ADAPTER)
    assert COSTS.of(STEPS) == known


def test_that_workers_took_longer_than_expected_is_learnt(
    known: float, monkeypatch: pytest.MonkeyPatch
):
    delivered = Delivered()
    monkeypatch.setattr(forecasts, "DELIVERED", delivered)
    correct(Forecast(Place.WORKERS, 4.0, expected=3.0), STEPS, MOD, ran(2.9), ADAPTER)
    assert delivered.drag == 1.0
    correct(Forecast(Place.WORKERS, 4.0, expected=3.0), STEPS, MOD, ran(6.0), ADAPTER)
    assert delivered.drag == 1.5
    assert COSTS.of(STEPS) == known


def test_nothing_is_learnt_from_a_stage_that_failed(known: float):
    record = StepRecord("NeverMeasured", seconds=0.001, failure=ValueError())
    failed = StageResult(MOD, [record], 0.0, 0.001)
    correct(Forecast(Place.HERE, 4.0), STEPS, MOD, failed, ADAPTER)
    assert COSTS.of(STEPS) == known


def test_what_takes_less_in_the_workers_than_was_forecast_takes_less(known: float):
    correct(Forecast(Place.WORKERS, 4.0), STEPS, MOD, ran(1.0), ADAPTER)
    assert COSTS.of(STEPS) == 1.0 / SIZE


def test_what_is_learnt_is_for_nodes_that_were_counted(known: float):
    # Two giants among others, from which far too many nodes would be extrapolated.
    giants = [Fn((1,) * 20_000), *[Fn((1,)) for _ in range(198)], Fn((1,) * 20_000)]
    mod = Program({f"f{at}": one for at, one in enumerate(giants)})
    nodes = sum(1 + ADAPTER.size(one, 1_000_000) for one in giants)
    correct(Forecast(Place.HERE, 4.0), STEPS, mod, ran(0.001), ADAPTER)
    assert COSTS.of(STEPS) == pytest.approx(0.001 / nodes)


def sizes(*counts: int) -> Program:
    return Program({f"f{at}": Fn((1,) * count) for at, count in enumerate(counts)})


@pytest.fixture(autouse=True)
def _as_if_cores_were_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "DELIVERED", Delivered())
    monkeypatch.setattr(forecasts, "_cores", lambda: 2)


def place_of(mod: Program, pace: float) -> Place:
    """Return where a stage is best run."""
    COSTS.forget(STEPS)
    COSTS.learn(STEPS, [pace], 1)
    executor, budgets = ThreadExecutor(), [UNLIMITED]
    try:
        place = best_place(
            STEPS, budgets, mod.functions, CONTEXT, executor, ADAPTER, Ledger()
        )
        return place.place
    finally:
        executor.close()
        COSTS.forget(STEPS)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([1] * 5, Place.HERE),
        ([1_000] * 4, Place.WORKERS),
        ([1_000] * 8 + [1] * 50, Place.WORKERS),
        ([2_000] + [1] * 50, Place.HERE),  # little to share out
        ([1_000], Place.HERE),
        ([4_000, 10], Place.HERE),  # nothing to share out
        ([10, 4_000], Place.HERE),
        ([1, 40] * 100, Place.WORKERS),  # both kinds are seen
        ([40, 1] * 100, Place.WORKERS),
        ([1, 1, 1, 40] * 100, Place.WORKERS),
    ],
)
def test_a_stage_goes_where_its_sizes_say(counts: Sequence[int], expected: Place):
    assert place_of(sizes(*counts), pace=1e-3) == expected


def test_a_stage_of_which_little_is_known_is_begun_here():
    assert place_of(sizes(*[6_000] * 20), pace=4e-6) == Place.UNKNOWN
    assert place_of(sizes(*[10] * 500), pace=1e-8) == Place.HERE


def test_what_would_not_be_worth_it_at_many_times_the_cost_is_run_here():
    assert place_of(sizes(*[10] * 5_000), pace=1e-8) == Place.HERE
    assert place_of(sizes(6_000, 10, 10), pace=1e-8) == Place.HERE


def test_little_work_stays_here_and_has_what_workers_lost_be_forgotten(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(forecasts.DELIVERED, "drag", 8.0)
    assert place_of(sizes(10, 10, 10), pace=1e-8) == Place.HERE
    assert 1.0 < forecasts.DELIVERED.drag < 8.0


def test_only_what_exceeds_the_asking_is_forgone():
    ledger = Ledger()
    ledger.forgo(0.001)
    assert ledger.forgone == 0
    ledger.forgo(1.0)
    assert 0.9 < ledger.forgone < 1.0


class Uneven(NeverMeasured):
    """What it takes is not told by sizes."""

    pass_info = PassInfo(0, "Uneven")
    cost_follows_size = False


def test_where_sizes_do_not_tell_what_is_spent_no_loss_is_held_against_workers(
    monkeypatch: pytest.MonkeyPatch,
):
    steps, mod = [Uneven()], program(*range(100))
    monkeypatch.setattr(costs.DELIVERED, "drag", 8.0)
    COSTS.learn(steps, [0.01], 1)
    executor = ThreadExecutor()
    try:
        budgets, functions = [UNLIMITED], mod.functions
        place = best_place(
            steps, budgets, functions, CONTEXT, executor, ADAPTER, Ledger()
        )
        few = dict(list(functions.items())[:2])
        little = best_place(steps, budgets, few, CONTEXT, executor, ADAPTER, Ledger())
    finally:
        executor.close()
        assert seconds_here(steps, mod.functions, ADAPTER) is None
        COSTS.forget(steps)
    assert (place.place, place.seconds, place.expected) == (Place.WORKERS, 0, 0)
    assert little.place is Place.UNKNOWN  # though what is known would be little
