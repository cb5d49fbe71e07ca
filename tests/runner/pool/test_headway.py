from __future__ import annotations

import pytest

from parpass.runner.pool.headway import Headway


def behind_at(headway: Headway, seconds: float, shares: list[float]) -> int | None:
    """Return at which of some jobs, of so many seconds each, workers are behind."""
    for at, share in enumerate(shares):
        headway.job_came_back(seconds)
        if headway.is_behind(share):
            return at
    return None


TENTHS = [at / 10 for at in range(1, 11)]


@pytest.mark.parametrize("seconds", [0.11, 0.2, 0.219])
def test_workers_that_are_faster_than_this_process_are_not_behind(seconds: float):
    assert behind_at(Headway(2, alone_seconds=1.0), seconds, TENTHS) is None


def test_workers_that_are_slower_are_behind_as_soon_as_enough_is_known():
    assert behind_at(Headway(2, alone_seconds=1.0), 0.23, TENTHS) == 5
    assert behind_at(Headway(3, alone_seconds=1.0), 1.0, TENTHS) == 6


def test_the_first_job_of_each_worker_does_not_count():
    headway = Headway(2, alone_seconds=1.0)
    assert behind_at(headway, 100.0, [0.01, 0.02]) is None
    assert behind_at(headway, 0.1, [0.1 + at for at in TENTHS[:8]]) is None


def test_little_time_tells_nothing():
    assert behind_at(Headway(2, alone_seconds=1e-6), 0.01, TENTHS) is None


def test_nobody_is_behind_what_is_not_known():
    assert behind_at(Headway(2, alone_seconds=None), 100.0, TENTHS) is None
