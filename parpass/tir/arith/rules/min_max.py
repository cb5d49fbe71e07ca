"""Rules of minima and maxima; those of maxima are the same, turned over."""

from __future__ import annotations

import re

from parpass.tir.arith.rule_text import rules

# Written for `min`; MAX is `min` and `max` exchanged.
_ABSORBING = """
    min(min(x, y), x) -> min(x, y)
    min(min(x, y), y) -> min(x, y)
    min(x, min(x, y)) -> min(x, y)
    min(y, min(x, y)) -> min(x, y)
    min(min(min(x, y), z), y) -> min(min(x, y), z)
    min(min(min(x, y), z), x) -> min(min(x, y), z)
    min(min(min(min(x, y), z), w), y) -> min(min(min(x, y), z), w)
    min(min(min(min(x, y), z), w), x) -> min(min(min(x, y), z), w)
    min(min(min(min(min(x, y), z), w), v), y) -> min(min(min(min(x, y), z), w), v)
    min(min(min(min(min(x, y), z), w), v), x) -> min(min(min(min(x, y), z), w), v)
"""
_BOTH = """
    min(max(x, y), min(x, y)) -> min(x, y)
    min(max(x, y), min(y, x)) -> min(x, y)
    min(min(x, y), max(x, y)) -> min(x, y)
    min(min(x, y), max(y, x)) -> min(x, y)
"""
_MIXED = """
    min(max(x, y), x) -> x
    min(x, max(x, y)) -> x
    min(max(x, y), max(x, z)) -> max(min(y, z), x)
"""
_SUMS = """
    min(x + y, x + z) -> min(y, z) + x
"""
_DIFFERENCES = """
    min(x - y, x - z) -> x - max(y, z)
    min(y - x, z - x) -> min(y, z) - x
    min(select(b, x, y), select(b, z, w)) -> select(b, min(x, z), min(y, w))
    min(x * c1, y * c1) -> min(x, y) * c1 if c1 > 0
    min(x * c1, y * c1) -> max(x, y) * c1 if c1 < 0
    min(x // c1, y // c1) -> min(x, y) // c1 if c1 > 0
    min(x // c1, y // c1) -> max(x, y) // c1 if c1 < 0
    min(tdiv(x, c1), tdiv(y, c1)) -> tdiv(min(x, y), c1) if c1 > 0
    min(tdiv(x, c1), tdiv(y, c1)) -> tdiv(max(x, y), c1) if c1 < 0
"""
_CONSTANTS = """
    min(min(x, c1), c2) -> min(x, min(c1, c2))
    min(c1 - x, c2) -> c1 - max(x, c1 - c2)
    min(c2, c1 - x) -> c1 - max(x, c1 - c2)
    min(x * c1, c2) -> min(x, c2 // c1) * c1 if c1 > 0 and c2 % c1 == 0
    min(x * c1, c2) -> max(x, c2 // c1) * c1 if c1 < 0 and c2 % c1 == 0
"""


def _exchanged(text: str) -> str:
    other = {"min": "max", "max": "min"}
    return re.sub(r"min|max", lambda found: other[found[0]], text)


MIN = [
    *rules(_ABSORBING),
    *rules(_BOTH),
    *rules(_MIXED, either="max"),
    *rules(_SUMS, either="+"),
    *rules(_DIFFERENCES),
    *rules(_CONSTANTS),
    # Multiples of a constant around x: c2 - 1 above at most, or below.
    *rules(
        """
        min(((x + c1) // c2) * c2, x) -> x if c2 > 0 and c1 + 1 == c2
        min((x // c1) * c1, x) -> (x // c1) * c1 if c1 > 0
        min(tdiv(x + c1, c2) * c2, x) -> x if c2 > 0 and c1 + 1 == c2
        min(((x + c1) // c2) * c2, max(x, c2)) -> max(x, c2)
            if c2 > 0 and c1 + 1 == c2 and nonneg(x + (-1))
        min(tdiv(x + c1, c2) * c2, max(x, c2)) -> max(x, c2)
            if c2 > 0 and c1 + 1 == c2 and nonneg(x + (-1))
        """,
        either="min",
    ),
]

MAX = [
    *rules(_exchanged(_ABSORBING)),
    *rules(_exchanged(_BOTH)),
    *rules(_exchanged(_MIXED), either="min"),
    *rules(_exchanged(_SUMS), either="+"),
    *rules(_exchanged(_DIFFERENCES)),
    *rules(_exchanged(_CONSTANTS)),
    *rules(
        """
        max(((x + c1) // c2) * c2, x) -> ((x + c1) // c2) * c2
            if c2 > 0 and c1 + 1 == c2
        max((x // c1) * c1, x) -> x if c1 > 0
        max(tdiv(x + c1, c2) * c2, x) -> tdiv(x + c1, c2) * c2
            if c2 > 0 and c1 + 1 == c2
        """,
        either="max",
    ),
]
