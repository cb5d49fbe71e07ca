"""The garbage collector rests, and does its work all the same."""

from __future__ import annotations

import gc
import weakref

import pytest

from parpass.transform.collector import resting_collector


class Knot:
    """Garbage that only the collector can free."""

    def __init__(self) -> None:
        self.itself = self
        self.rest: list[list[int]] = [
            [] for _ in range(5_000)
        ]  # so that few of them are many objects


@pytest.mark.usefixtures("few_are_bearable")
def test_cycles_that_are_made_in_and_between_rests_are_freed_in_the_end():
    with resting_collector():
        made_in_one = weakref.ref(Knot())
    made_between = weakref.ref(Knot())
    for _ in range(10):
        with resting_collector():
            Knot()
    assert made_in_one() is None
    assert made_between() is None


@pytest.mark.usefixtures("few_are_bearable")
def test_what_is_free_of_cycles_is_never_looked_through_and_little_else_is_left():
    with resting_collector(is_acyclic=True):
        made_in_one = weakref.ref(Knot())
        with resting_collector(is_acyclic=True):
            Knot()
    for _ in range(10):
        with resting_collector(is_acyclic=True):
            Knot()
    assert made_in_one() is not None
    for _ in range(60):
        with resting_collector(is_acyclic=True):
            Knot()
    assert made_in_one() is None


@pytest.mark.usefixtures("few_are_bearable")
def test_where_one_of_several_rests_may_make_cycles_they_are_freed_in_the_end():
    with resting_collector(is_acyclic=True):
        made = weakref.ref(Knot())
        with resting_collector():
            pass
    for _ in range(20):
        with resting_collector(is_acyclic=True):
            Knot()
            with resting_collector():
                pass
    assert made() is None


def test_thresholds_are_as_before_after_the_last_of_several_rests():
    before = gc.get_threshold()
    with resting_collector():
        seldom = gc.get_threshold()
        with resting_collector():
            pass
        assert gc.get_threshold() == seldom != before
    assert gc.get_threshold() == before


@pytest.fixture
def few_are_bearable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parpass.transform.collector._BEARABLE", 30_000)
    monkeypatch.setattr("parpass.transform.collector._unseen", 0)
    monkeypatch.setattr("parpass.transform.collector._bearable", 30_000)
