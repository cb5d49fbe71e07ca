from __future__ import annotations

from parpass.integrations.dask.dask_workers import (
    DaskWorkers,
    RoundTripEstimate,
)


def test_a_job_is_to_take_50_ms_where_nothing_or_little_is_known_of_its_way():
    round_trip = RoundTripEstimate()
    assert round_trip.least_job_seconds == 0.05
    round_trip.update(0.004)
    assert round_trip.least_job_seconds == 0.05


def test_where_the_way_is_long_jobs_are_and_they_follow_it():
    round_trip = RoundTripEstimate()
    round_trip.update(1.0)
    assert round_trip.least_job_seconds == 2.0
    for _ in range(100):
        round_trip.update(0.1)
    assert 0.2 <= round_trip.least_job_seconds < 0.21


def test_a_job_is_never_to_take_long_whatever_is_measured():
    round_trip = RoundTripEstimate()
    round_trip.update(1000.0)
    assert round_trip.least_job_seconds == 10.0
    round_trip.update(-1e9)  # clocks may be odd
    assert round_trip.least_job_seconds == 0.05


def _address(workers: DaskWorkers) -> str:
    worker = workers.best()
    assert worker is not None
    worker.jobs += 1
    return worker.address


def test_jobs_go_where_there_is_least_to_do_for_each_thread():
    workers = DaskWorkers()
    workers.join("small", 1)
    workers.join("large", 3)
    assert workers.threads == 4
    dealt = [_address(workers) for _ in range(8)]
    assert dealt.count("small") == 2
    assert dealt.count("large") == 6


def test_one_that_has_left_gets_no_job_and_another_one_that_comes_does():
    workers = DaskWorkers()
    assert workers.best() is None
    workers.join("first", 1)
    workers.leave("first")
    workers.leave("first")
    assert workers.best() is None
    workers.join("first", 1)
    assert _address(workers) == "first"


def test_who_is_told_of_twice_is_one():
    workers = DaskWorkers()
    workers.join("first", 2)
    assert _address(workers) == "first"
    workers.join("first", 2)
    best = workers.best()
    assert best is not None
    assert best.jobs == 1
    assert workers.threads == 2


def test_what_a_worker_is_known_to_have_does_not_grow_for_ever():
    worker = DaskWorkers().join("first", 1)
    for number in range(50_000):
        worker.add_parts([str(number)])
        assert str(number) in worker.parts
    assert len(worker.parts) < 20_000
