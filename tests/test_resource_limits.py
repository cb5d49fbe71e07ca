"""Limits of this process that a block has, and what they leave behind."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parpass.resource_limits import (
    OverdueError,
    exit_after,
    exit_with_traceback_after,
    interrupt_after,
)

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="there are no interval timers here"
)


def burn(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def handler(_signal: int, _frame: object) -> None:
    raise AssertionError("the program's own timer")


@pytest.fixture(autouse=True, params=[0.0, 200.0])
def alarm(request: pytest.FixtureRequest) -> Iterator[float]:
    """The program has a handler of its own, and perhaps a timer that runs."""
    timer = signal.setitimer(signal.ITIMER_REAL, request.param, 7.0)
    before = signal.signal(signal.SIGALRM, handler)
    yield request.param
    signal.signal(signal.SIGALRM, before)
    signal.setitimer(signal.ITIMER_REAL, *timer)


def assert_as_before(alarm: float) -> None:
    assert signal.getsignal(signal.SIGALRM) is handler
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    if alarm:
        assert alarm / 2 < left < alarm
        assert interval == 7.0
    else:
        assert left == 0


@pytest.mark.parametrize("seconds", [math.inf, 1e300, 1e12, 60.0])
@pytest.mark.parametrize("limit", [exit_after, interrupt_after])
def test_a_limit_that_is_not_reached_leaves_nothing_behind(
    limit: Any, seconds: float, alarm: float
):
    with limit(seconds):
        pass
    assert_as_before(alarm)


@pytest.mark.parametrize("seconds", [math.inf, 1e300, 1e12])
def test_an_exit_with_a_traceback_has_no_greatest_time(seconds: float, tmp_path: Path):
    with (
        (tmp_path / "trace").open("w") as file,
        exit_with_traceback_after(seconds, file),
    ):
        pass


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1e-6, 1e-3])
def test_an_interruption_leaves_nothing_behind_wherever_it_comes(
    seconds: float, alarm: float
):
    """With the least time it comes while the block is entered or left, too."""
    for _ in range(200):
        with pytest.raises(OverdueError), interrupt_after(seconds):
            burn(5.0)
        assert_as_before(alarm)


def test_a_block_that_is_as_long_as_its_limit_leaves_nothing_behind(alarm: float):
    for _ in range(300):
        try:
            with interrupt_after(3e-4):
                burn(2.8e-4)
        except OverdueError:
            pass
        assert_as_before(alarm)


def test_a_block_that_catches_what_interrupts_it_is_interrupted_again():
    def stubborn() -> None:
        with contextlib.suppress(OverdueError):
            burn(5.0)
        burn(5.0)

    with pytest.raises(OverdueError), interrupt_after(1e-3):
        stubborn()


@pytest.mark.parametrize("limit", [exit_after, interrupt_after])
def test_a_handler_of_c_stays_in_place(
    limit: Any, monkeypatch: pytest.MonkeyPatch, alarm: float
):
    """A program that embeds Python may have set it; Python could not put it back."""

    def of_c(number: int) -> None:
        return None

    with monkeypatch.context() as patch:
        patch.setattr(signal, "getsignal", of_c)
        with limit(60.0):
            pass
    assert_as_before(alarm)
