"""Measures the time of a function as TVM's time evaluator does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class BenchmarkResult(NamedTuple):
    """The times of a function: seconds of each repetition, averaged over its calls."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean."""
        return float(np.mean(self.results))

    @property
    def median(self) -> float:
        """The median."""
        return float(np.median(self.results))

    @property
    def min(self) -> float:
        """The least."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The most."""
        return max(self.results)

    @property
    def std(self) -> float:
        """The standard deviation."""
        return float(np.std(self.results))


def timed(
    call: Callable[[], object], number: int, repeat: int, min_repeat_ms: int = 0
) -> BenchmarkResult:
    """Make a call again and again, and return how long it took.

    Args:
        call: The call.
        number: How many calls are one repetition.
        repeat: How many repetitions there are, after one call that is not counted.
        min_repeat_ms: How long a repetition takes at least; more calls are made.
    """
    call()
    found, calls = list[float](), number
    while len(found) < repeat:
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        taken = time.perf_counter() - begin
        if taken * 1000 < min_repeat_ms:
            calls *= 2
        else:
            found.append(taken / calls)
    return BenchmarkResult(tuple(found))
