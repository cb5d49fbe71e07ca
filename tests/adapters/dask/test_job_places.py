from __future__ import annotations

from parpass.adapters.dask.job_places import Places


def _address(places: Places) -> str:
    place = places.best()
    assert place is not None
    place.jobs += 1
    return place.address


def test_jobs_go_where_there_is_least_to_do_for_each_thread():
    places = Places()
    places.join("small", 1)
    places.join("large", 3)
    assert places.threads == 4
    dealt = [_address(places) for _ in range(8)]
    assert dealt.count("small") == 2
    assert dealt.count("large") == 6


def test_one_that_has_left_gets_no_job_and_another_one_that_comes_does():
    places = Places()
    assert places.best() is None
    places.join("first", 1)
    places.leave("first")
    places.leave("first")
    assert places.best() is None
    places.join("first", 1)
    assert _address(places) == "first"


def test_who_is_told_of_twice_is_one():
    places = Places()
    places.join("first", 2)
    assert _address(places) == "first"
    places.join("first", 2)
    best = places.best()
    assert best is not None
    assert best.jobs == 1
    assert places.threads == 2
