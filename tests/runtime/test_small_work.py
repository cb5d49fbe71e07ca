"""Small work stays in this process, whatever an IR says of its size."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from parpass.runtime import Runner
from parpass.runtime.costs import BY_NODE
from parpass.runtime.small_work import Forecast, Place, correct
from parpass.transform import FunctionPass, PassContext, PassInfo, register_adapter
from parpass.transform.plan import Outcome, StepRecord
from tests.support.toy_ir import Fn, Program, ToyAdapter, program, values_of


@dataclasses.dataclass(frozen=True)
class SizelessProgram(Program):
    """A module whose functions have no size."""


class SizelessAdapter(ToyAdapter):
    """Handles them."""

    def size(self, function: Fn, limit: int) -> int:
        return 0


register_adapter(SizelessProgram, SizelessAdapter())


class NeverMeasured(FunctionPass):
    """Adds 1; no other test runs it, so what it costs is to be found out."""

    pass_info = PassInfo(0, "NeverMeasured")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        return func.with_values(value + 1 for value in func.values)


def test_functions_without_a_size_can_be_run(runner: Runner):
    mod = SizelessProgram(program(1, 2, 3).functions)
    after = runner.run_sync(mod, NeverMeasured())
    assert values_of(after) == values_of(program(2, 3, 4))


STEPS = [NeverMeasured()]
MOD = program(1, 2, 3)


@pytest.fixture
def known() -> Iterator[float]:
    """What the step is taken to cost for a unit, from an unlucky moment."""
    BY_NODE.forget(STEPS)
    BY_NODE.learn(STEPS, [4.0], size=4)
    yield 1.0
    BY_NODE.forget(STEPS)


def ran(seconds: float) -> Outcome:
    return Outcome(MOD, [StepRecord("NeverMeasured", seconds=seconds)], 0.0, seconds)


def test_a_forecast_that_was_much_too_high_is_corrected_at_once(known: float):
    correct(Forecast(Place.HERE, 4.0), STEPS, MOD, ran(0.001), ToyAdapter())
    now = BY_NODE.of(STEPS)
    assert now is not None
    assert now < known / 100


def test_a_forecast_that_was_nearly_right_is_kept(known: float):
    correct(Forecast(Place.HERE, 4.0), STEPS, MOD, ran(4.5), ToyAdapter())
    assert BY_NODE.of(STEPS) == known


def test_what_workers_hardly_did_faster_is_to_be_found_out_anew(known: float):
    correct(Forecast(Place.WORKERS, 4.0), STEPS, MOD, ran(1.0), ToyAdapter())
    assert BY_NODE.of(STEPS) == known
    correct(Forecast(Place.WORKERS, 4.0), STEPS, MOD, ran(3.9), ToyAdapter())
    assert BY_NODE.of(STEPS) is None


def test_nothing_is_learnt_from_a_stage_that_failed(known: float):
    record = StepRecord("NeverMeasured", seconds=0.001, failure=ValueError())
    failed = Outcome(MOD, [record], 0.0, 0.001)
    correct(Forecast(Place.HERE, 4.0), STEPS, MOD, failed, ToyAdapter())
    assert BY_NODE.of(STEPS) == known


def test_what_takes_less_in_the_workers_than_was_forecast_takes_less(known: float):
    forecast = Forecast(Place.WORKERS, 4.0, nodes=4.0)
    correct(forecast, STEPS, MOD, ran(1.0), ToyAdapter())
    assert BY_NODE.of(STEPS) == known / 4
