"""Costs are found again in what runs took."""

from __future__ import annotations

from dataclasses import astuple, replace

import pytest

from bench.cluster_costs import Observed, measured_costs, solved
from bench.cluster_simulation import Costs
from bench.measure import Setting

COSTS = Costs(
    stage=2e-3,
    pack=5e-6,
    byte=4e-8,
    accept=6e-6,
    unpack=3e-6,
    back_byte=5e-8,
    send=4e-4,
    load=3e-3,
    job=2e-4,
    work=2e-5,
    work_byte=2e-8,
)


def observed(
    functions: int, size: int, jobs: int, *, changed: bool = False
) -> Observed:
    """Return what a run takes where all costs as they are said to."""
    there, back = functions * size, functions * size * changed
    encoding = functions * COSTS.encoding(size)
    accepting = functions * COSTS.accepting(size, changed=changed)
    working = functions * (COSTS.work + size * COSTS.work_byte)
    return Observed(
        functions,
        there,
        back,
        jobs,
        COSTS.stage + encoding + accepting + jobs * COSTS.send,
        encoding,
        COSTS.load + working + jobs * COSTS.job,
        changed,
    )


def test_costs_are_found_again_in_what_runs_took():
    runs = [
        observed(4000, 270, 8),
        observed(1000, 270, 6),
        observed(100, 4300, 7),
        observed(250, 270, 90),
        observed(1000, 270, 9, changed=True),
        observed(100, 4300, 5, changed=True),
    ]
    assert astuple(solved(runs)) == pytest.approx(astuple(COSTS), rel=1e-6)


def test_no_cost_is_below_nothing_whatever_the_noise():
    runs = [
        observed(4000, 270, 8),
        replace(observed(1000, 270, 6), coordinator=1.0, worker=1.0, encoding=1.0),
        observed(100, 4300, 7),
        observed(250, 270, 90),
        replace(observed(1000, 270, 9, changed=True), coordinator=0.0),
    ]
    assert all(cost >= 0 for cost in astuple(solved(runs)))


@pytest.mark.slow
def test_costs_of_this_machine_are_those_of_messages_and_functions():
    costs = measured_costs(Setting(workers=1, repeat=1, scale=0.01))
    assert costs.way > 0
    assert costs.pack + costs.byte > 0
    assert costs.route == 0
