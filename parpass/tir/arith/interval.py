"""Intervals of ints, with ends that may be infinite, and arithmetic on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from parpass.tir.data_type import data_type, int_range
from parpass.tir.op.const_fold import trunc_div

# An end: an int, or an infinity. Beyond LIMIT an end counts as infinite, as in TVM,
# whose ends are 64 bits wide.
End = float
LIMIT = (1 << 63) - 1
INF = math.inf


class Interval(NamedTuple):
    """The ints from `low` to `high`, both included."""

    low: End
    high: End

    @staticmethod
    def at_most(high: End) -> Interval:
        """Return the ints up to one."""
        return Interval(-INF, high)

    @staticmethod
    def at_least(low: End) -> Interval:
        """Return the ints from one on."""
        return Interval(low, INF)

    def __and__(self, other: Interval) -> Interval:
        """Return what is in both; the first, if the two contradict each other."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high) if low <= high else self

    def __or__(self, other: Interval) -> Interval:
        """Return what has both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))


EVERYTHING = Interval(-INF, INF)
TRUTH = Interval(0, 1)


def of_dtype(dtype: str) -> Interval:
    """Return what a dtype has; of 64 bits all, as indices do not overflow."""
    kind = data_type(dtype)
    if not kind.is_integral:
        return EVERYTHING
    values = int_range(kind.element)
    return clipped(values.start, values.stop - 1)


def clipped(low: End, high: End) -> Interval:
    """Return an interval, with ends beyond the limit as infinite ones."""
    return Interval(
        -INF if low <= -LIMIT else min(low, LIMIT),
        INF if high >= LIMIT else max(high, -LIMIT),
    )


def add(a: Interval, b: Interval) -> Interval:
    """Return what sums are in."""
    return clipped(a.low + b.low, a.high + b.high)


def subtract(a: Interval, b: Interval) -> Interval:
    """Return what differences are in."""
    return clipped(a.low - b.high, a.high - b.low)


def _corners(a: Interval, b: Interval, compute: Callable[[End, End], End]) -> Interval:
    ends = [compute(one, other) for one in a for other in b]
    return clipped(min(ends), max(ends))


def _product(a: End, b: End) -> End:
    return 0 if a == 0 or b == 0 else a * b


def multiply(a: Interval, b: Interval) -> Interval:
    """Return what products are in."""
    return _corners(a, b, _product)


def _divisors(b: Interval) -> Iterable[Interval]:
    """Yield the negative and the positive ints of an interval."""
    if b.low < 0:
        yield Interval(b.low, min(b.high, -1))
    if b.high > 0:
        yield Interval(max(b.low, 1), b.high)


def _divided(a: Interval, b: Interval, compute: Callable[[End, End], End]) -> Interval:
    found = [_corners(a, one, compute) for one in _divisors(b)]
    if not found:
        return EVERYTHING
    return found[0] | found[-1]


def _floor(a: End, b: End) -> End:
    if math.isinf(b):
        return 0 if (a >= 0) == (b > 0) or math.isinf(a) else -1
    if math.isinf(a):
        return a if b > 0 else -a
    return a // b


def _trunc(a: End, b: End) -> End:
    if math.isinf(b):
        return 0
    if math.isinf(a):
        return a if b > 0 else -a
    return trunc_div(int(a), int(b))


def floor_divide(a: Interval, b: Interval) -> Interval:
    """Return what quotients, rounded down, are in."""
    return _divided(a, b, _floor)


def trunc_divide(a: Interval, b: Interval) -> Interval:
    """Return what quotients, rounded towards zero, are in."""
    return _divided(a, b, _trunc)


def _greatest_remainder(b: Interval) -> End:
    return max(abs(b.low), abs(b.high)) - 1


def trunc_remainder(a: Interval, b: Interval) -> Interval:
    """Return what `a` leaves, with the sign of `a`."""
    if a.low >= 0 and a.high < b.low:
        return a
    most = _greatest_remainder(b)
    low = max(a.low, -most) if a.low < 0 else 0
    high = min(a.high, most) if a.high > 0 else 0
    return clipped(low, high)


def floor_remainder(a: Interval, b: Interval) -> Interval:
    """Return what `a` leaves, with the sign of `b`."""
    if a.low >= 0 and a.high < b.low:
        return a
    low = b.low + 1 if b.low < 0 else 0
    high = b.high - 1 if b.high > 0 else 0
    if a.low >= 0:
        high = min(a.high, high)
    return clipped(low, high)


def shift_right(a: Interval, b: Interval) -> Interval:
    """Return what `a`, shifted right by `b` bits, is in."""
    if b.low < 0:
        return EVERYTHING
    low = _shifted(a.low, b.low if a.low < 0 else b.high)
    return Interval(low, _shifted(a.high, b.high if a.high < 0 else b.low))


def _shifted(a: End, b: End) -> End:
    if math.isinf(a):
        return a
    if math.isinf(b) or b > 64:
        return 0 if a >= 0 else -1
    return int(a) >> int(b)


def bitwise_and(a: Interval, b: Interval) -> Interval:
    """Return what the bits of both are in."""
    ends = [one.high for one in (a, b) if one.low >= 0]
    return Interval(0, min(ends)) if ends else EVERYTHING
