"""Sets of ints that leave one remainder: `coeff * n + base` for all ints n."""

from __future__ import annotations

import math
from typing import NamedTuple


class Congruence(NamedTuple):
    """The ints that are `base` modulo `coeff`; of a coeff of 0, `base` alone."""

    coeff: int
    base: int

    @staticmethod
    def of(coeff: int, base: int) -> Congruence:
        """Return the set, whose base is then not negative and less than the coeff."""
        coeff = abs(coeff)
        return Congruence(coeff, base % coeff if coeff else base)

    def __neg__(self) -> Congruence:
        return Congruence.of(self.coeff, -self.base)


ANYTHING = Congruence(1, 0)


def add(a: Congruence, b: Congruence) -> Congruence:
    """Return what sums of two ints keep."""
    return Congruence.of(math.gcd(a.coeff, b.coeff), a.base + b.base)


def multiply(a: Congruence, b: Congruence) -> Congruence:
    """Return what products of two ints keep."""
    coeff = math.gcd(a.coeff * b.coeff, a.coeff * b.base, b.coeff * a.base)
    return Congruence.of(coeff, a.base * b.base)


def join(a: Congruence, b: Congruence) -> Congruence:
    """Return what ints of either set keep."""
    coeff = math.gcd(a.coeff, b.coeff, a.base - b.base)
    return Congruence.of(coeff, a.base)


def meet(a: Congruence, b: Congruence) -> Congruence:
    """Return what ints of both sets keep, by the Chinese remainder theorem.

    If there is none of both, the facts contradict each other: the first is kept.
    """
    if a.coeff == 0 or b.coeff == 0:
        return a if a.coeff == 0 else b
    common = math.gcd(a.coeff, b.coeff)
    if (a.base - b.base) % common:
        return a
    step = b.coeff // common
    inverse = pow(a.coeff // common, -1, step) if step > 1 else 0
    times = (b.base - a.base) // common * inverse % step
    return Congruence.of(a.coeff * step, a.base + a.coeff * times)


def remainder(a: Congruence, divisor: int) -> Congruence:
    """Return what `a` leaves if divided, by whichever rounding."""
    return Congruence.of(math.gcd(a.coeff, divisor), a.base)
