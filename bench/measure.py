"""The measuring that all rows share: runs that take turns, medians, and the noise.

Nothing here compares across runs of the command: a figure is a ratio, or a difference,
of times that were taken turn by turn: what else the machine does hits all alike.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parpass.runner.cores import usable_cores

Times = Mapping[str, Sequence[float]]

_MOST_WORKERS = 4  # what the goals are stated for


def default_workers() -> int:
    """Return how many workers to measure with: one for each core, at most four."""
    return min(_MOST_WORKERS, usable_cores())


@dataclass(frozen=True)
class Setting:
    """How to measure.

    Attributes:
        workers: How many worker processes.
        repeat: How many runs of each side.
        scale: The share of the work that the goals are stated for.
    """

    workers: int
    repeat: int
    scale: float

    @property
    def fewer(self) -> int:
        """How many runs of each side where a run takes many seconds."""
        return (self.repeat + 1) // 2

    def scaled(self, count: int, at_least: int = 1) -> int:
        """Return a number of functions, say, at this scale."""
        return max(at_least, round(count * self.scale))


@dataclass(frozen=True)
class Figure:
    """What was measured: a value, its noise in the same unit, and the unit."""

    value: float
    noise: float = 0.0
    unit: str = "x"

    def times(self, factor: float, unit: str) -> Figure:
        """Return this in another unit."""
        return Figure(self.value * factor, self.noise * factor, unit)


def clocked(
    run: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> Callable[[], float]:
    """Return what runs something and returns its seconds.

    What a run makes is freed after the clock was read.

    Args:
        run: What is run.
        clock: The clock that is read, in seconds.
    """

    def seconds() -> float:
        began = clock()
        made = run()
        took = clock() - began
        del made
        return took

    return seconds


def children_seconds() -> float:
    """Return the processor time of all child processes that have ended."""
    used = os.times()
    return used.children_user + used.children_system


def processor_seconds(command: Sequence[str]) -> float:
    """Run a command, and return the processor time of all of its processes."""
    before = children_seconds()
    subprocess.run(command, check=True)
    return children_seconds() - before


def import_distributed() -> Any:
    """Return Dask's `distributed`; it says nothing of the collections made here."""
    distributed = importlib.import_module("distributed")
    # Else it warns that these, one before each measurement, take most of the time.
    logging.getLogger("distributed.utils_perf").setLevel(logging.ERROR)
    return distributed


def interleaved(
    sides: Mapping[str, Callable[[], float]],
    rounds: int,
    *,
    once: Collection[str] = (),
    collect: bool = True,
) -> dict[str, list[float]]:
    """Return the seconds of each side, round by round.

    Args:
        sides: What each returns is its seconds in that round; see `clocked`. Who
            begins changes with the round.
        rounds: How many.
        once: Sides for which one run is enough, because they take long.
        collect: Whether garbage of the one is collected before the next. It takes
            longer than a run of a millisecond, and empties the caches.
    """
    names = list(sides)
    times: dict[str, list[float]] = {name: [] for name in names}
    for at in range(rounds):
        first = at % len(names)
        for name in names[first:] + names[:first]:
            if at > 0 and name in once:
                continue
            if collect:
                gc.collect()
            times[name].append(sides[name]())
    return times


def median(times: Sequence[float], unit: str = "s") -> Figure:
    """Return the median, and half the distance between the quartiles as its noise."""
    return Figure(statistics.median(times), _spread(times), unit)


def ratio(times: Times, over: str, under: str) -> Figure:
    """Return how many times as long the one took as the other: medians' ratio.

    Its noise is that of the ratios of the rounds.
    """
    rounds = zip(times[over], times[under], strict=False)  # one may have run once
    value = statistics.median(times[over]) / statistics.median(times[under])
    return Figure(value, _spread([one / other for one, other in rounds]))


def difference(times: Times, more: str, less: str) -> Figure:
    """Return how many seconds longer the one took than the other."""
    rounds = zip(times[more], times[less], strict=False)  # one may have run once
    value = statistics.median(times[more]) - statistics.median(times[less])
    return Figure(value, _spread([one - other for one, other in rounds]), "s")


def _spread(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2
