"""The simulated cluster, which drives the real schedule."""

from __future__ import annotations

import pytest

from bench.cluster_simulation import Cluster, Costs, simulated

FREE = Costs()
DASK = Costs(pack=0.0001, accept=0.0001, send=0.0012, route=0.0016, way=0.004)


def test_where_nothing_else_takes_time_workers_are_busy():
    made = simulated(Cluster(10, 1000, 0.1, FREE))
    assert made.efficiency > 0.95
    assert made.coordinator == made.scheduler == made.lost == 0


def test_a_coordinator_that_is_busy_throughout_is_the_limit():
    made = simulated(Cluster(100, 5000, 0.01, DASK))
    assert made.coordinator > 0.9
    assert made.efficiency < 0.5
    assert made.seconds > 5000 * (DASK.pack + DASK.accept)


def test_jobs_as_long_as_their_way_asks_for_are_fewer_and_no_slower():
    asked, fixed = (
        simulated(Cluster(100, 5000, 0.01, DASK, follows=follows))
        for follows in (True, False)
    )
    assert asked.jobs < fixed.jobs
    assert asked.seconds < fixed.seconds


def test_all_is_done_though_workers_die_and_the_same_comes_of_the_same_seed():
    cluster = Cluster(10, 300, 0.1, DASK, lifetime=5.0)
    made = simulated(cluster)
    assert made == simulated(cluster)
    assert made.lost > 0


def test_workers_that_die_do_not_have_all_others_wait():
    made = simulated(Cluster(300, 3000, 1.0, DASK, lifetime=500.0))
    assert made.lost > 10
    assert made.efficiency > 0.75


def test_functions_that_come_back_and_bytes_cost_the_coordinator_their_time():
    costs = Costs(byte=1e-6, unpack=1e-4, back_byte=1e-6)
    kept, changed = (
        simulated(Cluster(1, 100, 0.01, costs, 500, changed))
        for changed in (False, True)
    )
    assert kept.coordinator * kept.seconds == pytest.approx(100 * 500e-6)
    assert changed.coordinator * changed.seconds == pytest.approx(100 * 1.1e-3)


def test_a_worker_loads_the_stage_once_and_begins_each_job():
    made = simulated(Cluster(1, 100, 0.01, Costs(load=0.5, job=0.001)))
    assert made.processor == pytest.approx(100 * 0.01 + 0.5 + made.jobs * 0.001)


def test_hundreds_of_workers_on_tiny_functions_do_not_drown_the_coordinator_in_jobs():
    costs = Costs(pack=1e-5, accept=1e-5, send=0.0004)
    made = simulated(Cluster(512, 20_000, 1e-5, costs))
    assert made.seconds < 2 * 20_000 * 2e-5
