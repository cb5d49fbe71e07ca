"""When a probe hands functions over, by the time that those before them took."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from parpass.runner import cost_model
from parpass.runner.cost_model import SlowdownEstimate, SpeedupModel
from parpass.runner.driver import probe
from parpass.runner.driver.pass_by_pass import PassByPassCheckpoint
from parpass.runner.driver.probe import HandoverCriterion
from parpass.runner.ipc.module_store import FunctionHandle

LIGHT, HEAVY = 1e-5, 1e-2  # seconds
TO_WIN = 0.1  # seconds, for workers to be worth it
GIANT = 10**8  # nodes


class Policy:
    """What a criterion asks of the policy, for two workers."""

    executor = None

    def dispatch_overhead(self, functions: int) -> float:
        return TO_WIN

    def speedup(self) -> SpeedupModel:
        return SpeedupModel(2, 2)


class Sizes:
    """An adapter of functions that are their sizes."""

    def size(self, function: int, limit: int) -> int:
        return min(function, limit)


class StartsWorkers(HandoverCriterion):
    """Ends the stage here where it would start workers."""

    def _start_workers(self) -> None:
        raise NotImplementedError


def criterion_of(
    functions: int, kind: type[HandoverCriterion] = HandoverCriterion
) -> HandoverCriterion:
    """Return a criterion for so many functions; one that starts workers has none."""
    command, placed = SimpleNamespace(steps=[]), SimpleNamespace(place=None)
    is_warm = kind is HandoverCriterion
    about = {"command": command, "placed": placed, "was_warm": is_warm}
    store = SimpleNamespace(adapter=Sizes(), check_open=int)
    stage: Any = SimpleNamespace(**about)
    state: Any = SimpleNamespace(store=store, policy=Policy())
    return kind(functions, stage, state)


def handed_over(
    costs: Sequence[float],
    monkeypatch: pytest.MonkeyPatch,
    kind: type[HandoverCriterion] = HandoverCriterion,
    giants: Collection[int] = (),
) -> int | None:
    """Return the first function that workers get, of functions that take so long."""
    now = 0.0
    monkeypatch.setattr(cost_model, "SLOWDOWN", SlowdownEstimate())
    monkeypatch.setattr(probe, "time", SimpleNamespace(perf_counter=lambda: now))
    criterion = criterion_of(len(costs), kind)
    at = 0
    while at < len(costs):
        held = FunctionHandle(GIANT if at in giants else 1)
        count = criterion.look(at, held).count
        if not count:
            return at
        now += sum(costs[at : at + count])
        at += count
    return None


def left_at(
    costs: Sequence[Sequence[float]], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, int] | None:
    """Return at which pass and function workers get the rest, of passes that go on.

    `costs` has the seconds of each pass on each function.
    """
    now = 0.0
    monkeypatch.setattr(cost_model, "SLOWDOWN", SlowdownEstimate())
    monkeypatch.setattr(probe, "time", SimpleNamespace(perf_counter=lambda: now))
    functions = len(costs[0])
    criterion = criterion_of(functions)
    store, backend = SimpleNamespace(check_open=int), SimpleNamespace(abandons=False)
    state: Any = SimpleNamespace(store=store, backend=backend)
    checkpoint = PassByPassCheckpoint(criterion, functions, state)
    for step, seconds in enumerate(costs):
        at = 0
        while at < functions:
            stop = checkpoint(at, 1)
            if stop == at:
                return step, at
            now += sum(seconds[at:stop])
            at = stop
    return None


def test_light_functions_stay_here_and_of_heavy_ones_few_do(
    monkeypatch: pytest.MonkeyPatch,
):
    assert handed_over([LIGHT] * 200, monkeypatch) is None
    first = handed_over([HEAVY] * 200, monkeypatch)
    assert first is not None
    assert first < 4


def test_a_giant_is_handed_over_if_there_is_something_to_run_beside_it(
    monkeypatch: pytest.MonkeyPatch,
):
    assert handed_over([LIGHT] * 12, monkeypatch, giants=[5]) == 5
    assert handed_over([LIGHT] * 12, monkeypatch, giants=[0]) == 0
    assert handed_over([LIGHT] * 12, monkeypatch, giants=[11]) is None


def test_heavy_functions_behind_light_ones_are_handed_over(
    monkeypatch: pytest.MonkeyPatch,
):
    first = handed_over([LIGHT] * 100 + [HEAVY] * 100, monkeypatch)
    assert first is not None
    assert 100 < first < 116


@pytest.mark.parametrize("slow", [0, 20, 100])
def test_an_interruption_is_not_taken_for_heavy_functions(
    slow: int, monkeypatch: pytest.MonkeyPatch
):
    costs = [LIGHT] * 200
    costs[slow] = 0.1
    assert handed_over(costs, monkeypatch) is None


def test_of_light_and_heavy_ones_in_turn_the_mean_counts(
    monkeypatch: pytest.MonkeyPatch,
):
    first = handed_over([LIGHT, HEAVY] * 100, monkeypatch)
    assert first is not None
    assert first < 8


def test_the_first_functions_which_load_what_others_use_start_no_workers(
    monkeypatch: pytest.MonkeyPatch,
):
    # Two of them: of one, the longest is left out anyway.
    first = [TO_WIN / 20, TO_WIN / 15]
    assert handed_over([*first, *[LIGHT] * 500], monkeypatch, StartsWorkers) is None
    importing = [*[TO_WIN / 150] * 7, TO_WIN, *[LIGHT] * 500]  # one of the first does
    assert handed_over(importing, monkeypatch, StartsWorkers) is None
    started = handed_over([*first, *[HEAVY] * 500], monkeypatch, StartsWorkers)
    assert started is not None
    assert started < 8


def test_a_pass_that_goes_on_alone_is_left_where_it_turns_out_to_be_heavy(
    monkeypatch: pytest.MonkeyPatch,
):
    light = [LIGHT] * 200
    assert left_at([light] * 3, monkeypatch) is None
    found = left_at([light, [*light[:100], *[HEAVY] * 100], light], monkeypatch)
    assert found is not None
    step, function = found
    assert step == 1
    assert 100 < function < 116


def test_passes_go_on_one_after_the_other_once_functions_are_known_to_be_light(
    monkeypatch: pytest.MonkeyPatch,
):
    now = 0.0
    monkeypatch.setattr(cost_model, "SLOWDOWN", SlowdownEstimate())
    monkeypatch.setattr(probe, "time", SimpleNamespace(perf_counter=lambda: now))
    # Workers would save nearly enough on so many of the second ones.
    for cost, settled_at in [(LIGHT, 16), (TO_WIN / 200, None)]:
        criterion = criterion_of(360)
        settled = None
        for at in range(20):
            look = criterion.look(at, FunctionHandle(1))
            assert look.count
            if look.is_small:
                settled = at
                break
            now += cost
        assert settled == settled_at
