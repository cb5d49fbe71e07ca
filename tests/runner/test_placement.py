"""Forecasts of what stages take, and what is learnt from wrong ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import pytest

from parpass.runner import Runner, cost_model, placement
from parpass.runner.cost_model import (
    COST_MODEL,
    SlowdownEstimate,
    StartupAmortizer,
)
from parpass.runner.estimates import Estimate
from parpass.runner.placement import Placed, Placement, PlacementPolicy
from parpass.transform import FunctionPass, PassContext, PassInfo, register_adapter
from parpass.transform.budget import UNLIMITED
from parpass.transform.plan.commands import StageResult, StepRecord
from tests.support.registering import registering_for_a_while
from tests.support.runner import pooled
from tests.support.runner.costs import forget_costs
from tests.support.runner.executors import ThreadExecutor
from tests.support.toy.ir import Fn, Program, ToyAdapter, program
from tests.support.toy.passes import Add, Keep


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


HERE = Placed(Placement.LOCAL, 1, estimate=Estimate(4.0))


def there(in_workers: float = 0.0) -> Placed:
    """Return where a stage of four seconds runs that workers are expected to be at."""
    estimate = Estimate(4.0, in_workers=in_workers)
    return Placed(Placement.REMOTE, 1, estimate=estimate)


def policy(executor: ThreadExecutor) -> PlacementPolicy:
    return PlacementPolicy(executor, ADAPTER, CONTEXT, StartupAmortizer())


@pytest.fixture
def update() -> Iterator[Callable[..., None]]:
    """Give the function that corrects the model after a stage."""
    executor = ThreadExecutor()
    yield policy(executor).update
    executor.close()


@pytest.fixture
def known() -> Iterator[float]:
    """What the step is taken to cost for a unit, from an unlucky moment."""
    forget_costs()
    COST_MODEL.update(STEPS, [4.0], size=4)
    yield 1.0
    forget_costs()


def ran(seconds: float) -> StageResult:
    return StageResult(
        MOD, [StepRecord("NeverMeasured", seconds=seconds)], 0.0, seconds
    )


def test_a_forecast_that_was_much_too_high_is_corrected_at_once(
    known: float, update: Callable[..., None]
):
    update(HERE, STEPS, MOD, ran(0.001))
    now = COST_MODEL.of(STEPS)
    assert now is not None
    assert now < known / 100


def test_a_forecast_that_was_nearly_right_is_kept(
    known: float, update: Callable[..., None]
):
    update(HERE, STEPS, MOD, ran(4.5))
    assert COST_MODEL.of(STEPS) == known


def test_that_workers_took_longer_than_expected_is_learnt(
    known: float, update: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    delivered = SlowdownEstimate()
    monkeypatch.setattr(placement, "SLOWDOWN", delivered)
    update(there(3.0), STEPS, MOD, ran(2.9))
    assert delivered.slowdown == 1.0
    update(there(3.0), STEPS, MOD, ran(6.0))
    assert delivered.slowdown == 1.5
    assert COST_MODEL.of(STEPS) == known


def test_nothing_is_learnt_from_a_stage_that_failed(
    known: float, update: Callable[..., None]
):
    record = StepRecord("NeverMeasured", seconds=0.001, failure=ValueError())
    failed = StageResult(MOD, [record], 0.0, 0.001)
    update(HERE, STEPS, MOD, failed)
    assert COST_MODEL.of(STEPS) == known


def test_what_takes_less_in_the_workers_than_was_forecast_takes_less(
    known: float, update: Callable[..., None]
):
    update(there(), STEPS, MOD, ran(1.0))
    assert COST_MODEL.of(STEPS) == 1.0 / SIZE


def test_what_is_learnt_is_for_nodes_that_were_counted(
    known: float, update: Callable[..., None]
):
    # Two giants among others, from which far too many nodes would be extrapolated.
    giants = [Fn((1,) * 20_000), *[Fn((1,)) for _ in range(198)], Fn((1,) * 20_000)]
    mod = Program({f"f{at}": one for at, one in enumerate(giants)})
    nodes = sum(1 + ADAPTER.size(one, 1_000_000) for one in giants)
    update(HERE, STEPS, mod, ran(0.001))
    assert COST_MODEL.of(STEPS) == pytest.approx(0.001 / nodes)


def sizes(*counts: int) -> Program:
    return Program({f"f{at}": Fn((1,) * count) for at, count in enumerate(counts)})


@pytest.fixture(autouse=True)
def _as_if_cores_were_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_model, "SLOWDOWN", SlowdownEstimate())
    monkeypatch.setattr(placement, "_cores", lambda: 2)


def placed(mod: Program, pace: float) -> Placed:
    """Return where a stage is best run, and why."""
    forget_costs()
    COST_MODEL.update(STEPS, [pace], 1)
    executor, budgets = ThreadExecutor(), [UNLIMITED]
    try:
        return policy(executor).choose(STEPS, budgets, mod.functions)
    finally:
        executor.close()
        forget_costs()


def place_of(mod: Program, pace: float) -> Placement:
    """Return where a stage is best run."""
    return placed(mod, pace).place


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([1] * 5, Placement.LOCAL),
        ([1_000] * 4, Placement.REMOTE),
        ([1_000] * 8 + [1] * 50, Placement.REMOTE),
        ([2_000] + [1] * 50, Placement.LOCAL),  # little to share out
        ([1_000], Placement.LOCAL),
        ([20_000] + [1] * 50, Placement.LOCAL),
        ([1] * 50 + [20_000], Placement.LOCAL),
        ([20_000] + [1] * 5_000, Placement.REMOTE),
        ([4_000, 10], Placement.LOCAL),  # nothing to share out
        ([10, 4_000], Placement.LOCAL),
        ([1, 40] * 100, Placement.REMOTE),  # both kinds are seen
        ([40, 1] * 100, Placement.REMOTE),
        ([1, 1, 1, 40] * 100, Placement.REMOTE),
    ],
)
def test_a_stage_goes_where_its_sizes_say(counts: Sequence[int], expected: Placement):
    assert place_of(sizes(*counts), pace=1e-3) == expected


def test_only_the_passes_that_go_together_are_estimated(known: float):
    executor, steps = ThreadExecutor(), STEPS * 40
    chosen = policy(executor).choose(steps, [UNLIMITED] * 40, MOD.functions)
    executor.close()
    assert chosen.place is Placement.REMOTE
    assert 1 < chosen.count < 40
    assert chosen.estimate is not None
    assert chosen.estimate.seconds == pytest.approx(chosen.count * known * SIZE)


@pytest.mark.parametrize("at", [0, 1, 30, 60])
def test_a_giant_is_expected_to_take_as_long_as_it_is_large(at: int):
    counts = [300] * 60
    counts.insert(at, 18_000)
    mod, pace = sizes(*counts), 1e-3
    nodes = sum(1 + ADAPTER.size(one, 1_000_000) for one in mod.functions.values())
    expected = placed(mod, pace).estimate
    assert expected is not None
    assert expected.seconds == pytest.approx(pace * nodes)
    assert pace * 18_000 <= expected.longest <= expected.in_workers


class Sizes(ToyAdapter):
    """Notes how often, and where, it is asked for a size."""

    asked: ClassVar[list[int]] = []

    def size(self, function: Fn, limit: int) -> int:
        self.asked.append(os.getpid())
        return super().size(function, limit)


class SizedProgram(Program):
    """A module whose functions' sizes are asked of `Sizes`."""


@pytest.mark.parametrize("functions", [1, 20, 300])
def test_sizes_are_asked_here_twice_a_function_and_stage_at_most(
    functions: int, runner: Runner
):
    mod = SizedProgram({f"f{at}": Fn((at,)) for at in range(functions)})
    Sizes.asked.clear()
    with registering_for_a_while():
        register_adapter(SizedProgram, Sizes())
        Add(1)(mod)
        assert Sizes.asked == []  # a serial run
        for config in (pooled.HERE, pooled.POOLED):
            steps = [Add(1), Keep(), Add(1)]
            runner.run_sync(mod, steps, context=PassContext(config=config))
            assert set(Sizes.asked) <= {os.getpid()}
            stages = 2
            assert len(Sizes.asked) <= stages * 2 * functions
            Sizes.asked.clear()


@pytest.mark.parametrize(("pace", "is_little"), [(1e-6, True), (1e-4, False)])
def test_few_functions_are_counted_to_tell_that_there_is_little_to_do(
    pace: float, is_little: bool
):
    forget_costs()
    COST_MODEL.update(STEPS, [pace], 1)
    Sizes.asked.clear()
    executor, functions = ThreadExecutor(), sizes(*[1] * 300).functions
    about = PlacementPolicy(executor, Sizes(), CONTEXT, StartupAmortizer())
    about.choose(STEPS, [UNLIMITED], functions)
    executor.close()
    forget_costs()
    assert (len(Sizes.asked) < 16) == is_little


def test_a_stage_of_which_little_is_known_is_begun_here():
    assert place_of(sizes(*[6_000] * 20), pace=8e-6) == Placement.PROBE
    assert place_of(sizes(*[10] * 500), pace=1e-8) == Placement.LOCAL


def test_what_would_not_be_worth_it_at_many_times_the_cost_is_run_here():
    assert place_of(sizes(*[10] * 5_000), pace=1e-8) == Placement.LOCAL
    assert place_of(sizes(6_000, 10, 10), pace=1e-8) == Placement.LOCAL


def test_little_work_stays_here_and_has_what_workers_lost_be_forgotten(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(placement.SLOWDOWN, "slowdown", 8.0)
    assert place_of(sizes(10, 10, 10), pace=1e-8) == Placement.LOCAL
    assert 1.0 < placement.SLOWDOWN.slowdown < 8.0


def test_only_what_exceeds_the_asking_is_forgone():
    amortizer = StartupAmortizer()
    amortizer.add_missed_saving(0.001)
    assert amortizer.missed_saving == 0
    amortizer.add_missed_saving(1.0)
    assert 0.9 < amortizer.missed_saving < 1.0


class Uneven(NeverMeasured):
    """What it takes is not told by sizes."""

    pass_info = PassInfo(0, "Uneven")
    cost_follows_size = False


def test_where_sizes_do_not_tell_what_is_spent_no_loss_is_held_against_workers(
    monkeypatch: pytest.MonkeyPatch,
):
    steps, mod = [Uneven()], program(*range(100))
    monkeypatch.setattr(cost_model.SLOWDOWN, "slowdown", 8.0)
    COST_MODEL.update(steps, [0.01], 1)
    executor = ThreadExecutor()
    try:
        budgets, functions = [UNLIMITED], mod.functions
        place = policy(executor).choose(steps, budgets, functions)
        few = dict(list(functions.items())[:2])
        little = policy(executor).choose(steps, budgets, few)
        assert policy(executor).local_seconds(steps, functions) is None
    finally:
        executor.close()
        forget_costs()
    assert (place.place, place.estimate) == (Placement.REMOTE, None)
    assert little.place is Placement.PROBE  # though what is known would be little
