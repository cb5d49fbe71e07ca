from __future__ import annotations

from parpass.adapters.dask.job_cost import JobCost


def test_a_job_is_to_take_50_ms_where_nothing_or_little_is_known_of_its_way():
    cost = JobCost()
    assert cost.least_job_seconds == 0.05
    cost.learn(0.004)
    assert cost.least_job_seconds == 0.05


def test_where_the_way_is_long_jobs_are_and_they_follow_it():
    cost = JobCost()
    cost.learn(1.0)
    assert cost.least_job_seconds == 2.0
    for _ in range(100):
        cost.learn(0.1)
    assert 0.2 <= cost.least_job_seconds < 0.21


def test_a_job_is_never_to_take_long_whatever_is_measured():
    cost = JobCost()
    cost.learn(1000.0)
    assert cost.least_job_seconds == 10.0
    cost.learn(-1e9)  # clocks may be odd
    assert cost.least_job_seconds == 0.05
