"""Rewriting rules of comparisons, minima, maxima, conditions and vectors.

Comparisons are made of `<` and `==`. The rules of maxima are those of minima, turned
over.
"""

from __future__ import annotations

import re

from parpass.tir.arith.rule_language import rules

# The least and the greatest int that keep a bound on a multiple: c2 / c1 rounded up is
# -(-c2 // c1).
LT_RULES = [
    *rules(
        """
        x + y < x + z -> y < z
        x < x + z -> 0 < z
        x + z < x -> z < 0
        """,
        either="+",
    ),
    *rules(
        """
        y - x < z - x -> y < z
        x - y < x - z -> z < y
        x < x - z -> z < 0
        x - z < x -> 0 < z
        c1 < x + c2 -> c1 - c2 < x
        x + c1 < c2 -> x < c2 - c1
        c1 < c2 - x -> x < c2 - c1
        c1 - x < c2 -> c1 - c2 < x
        x * c1 < y * c1 -> x < y if c1 > 0
        x * c1 < y * c1 -> y < x if c1 < 0
        x * c1 < c2 -> x < -(-c2 // c1) if c1 > 0
        x * c1 < c2 -> c2 // c1 < x if c1 < 0
        c2 < x * c1 -> c2 // c1 < x if c1 > 0
        c2 < x * c1 -> x < -(-c2 // c1) if c1 < 0
        """
    ),
    *rules(
        """
        x // c1 < c2 -> x < c1 * c2 if c1 > 0
        c2 < x // c1 -> (c2 + 1) * c1 - 1 < x if c1 > 0
        tdiv(x, c1) < c2 -> x < c1 * c2 if c1 > 0 and c2 > 0
        tdiv(x, c1) < c2 -> x < (c2 - 1) * c1 + 1 if c1 > 0 and c2 <= 0
        c2 < tdiv(x, c1) -> (c2 + 1) * c1 - 1 < x if c1 > 0 and c2 >= 0
        c2 < tdiv(x, c1) -> c2 * c1 < x if c1 > 0 and c2 < 0
        """
    ),
    # x without what it leaves, beside x.
    *rules(
        """
        (x // c1) * c1 < x -> 0 < x % c1
        x < (x // c1) * c1 -> x % c1 < 0
        (x // c1) * c1 < x - y -> y < x % c1
        ((x + c2) // c1) * c1 < x -> c2 < (x + c2) % c1
        x < ((x + c2) // c1) * c1 -> (x + c2) % c1 < c2
        ((x + c2) // c1) * c1 < x - y -> y < (x + c2) % c1 + (-c2)
        tdiv(x, c1) * c1 < x -> 0 < tmod(x, c1)
        x < tdiv(x, c1) * c1 -> tmod(x, c1) < 0
        tdiv(x, c1) * c1 < x - y -> y < tmod(x, c1)
        tdiv(x + c2, c1) * c1 < x -> c2 < tmod(x + c2, c1)
        x < tdiv(x + c2, c1) * c1 -> tmod(x + c2, c1) < c2
        tdiv(x + c2, c1) * c1 < x - y -> y < tmod(x + c2, c1) + (-c2)
        """
    ),
    *rules(
        """
        (x // c1) * c1 < x + y -> 0 < x % c1 + y
        x + y < (x // c1) * c1 -> x % c1 + y < 0
        ((x + c2) // c1) * c1 < x + y -> c2 < (x + c2) % c1 + y
        tdiv(x, c1) * c1 < x + y -> 0 < tmod(x, c1) + y
        x + y < tdiv(x, c1) * c1 -> tmod(x, c1) + y < 0
        tdiv(x + c2, c1) * c1 < x + y -> c2 < tmod(x + c2, c1) + y
        """,
        # `+` in either order, which would double the sums with a constant, too
    ),
    *rules(
        """
        (x // c1) * c1 < y + x -> 0 < x % c1 + y
        tdiv(x, c1) * c1 < y + x -> 0 < tmod(x, c1) + y
        """
    ),
    *rules(
        """
        min(x, y) < z -> x < z or y < z
        max(x, y) < z -> x < z and y < z
        z < min(x, y) -> z < x and z < y
        z < max(x, y) -> z < x or z < y
        x < c1 - y -> x + y < c1
        c1 - y < x -> c1 < x + y
        """
    ),
]

EQ_RULES = [
    *rules(
        """
        c1 == x -> x == c1
        x + c1 == c2 -> x == c2 - c1
        c1 - x == c2 -> x == c1 - c2
        x - y == 0 -> x == y
        x * y == 0 -> x == 0 or y == 0
        x * c1 == c2 -> x == c2 // c1 if c1 != 0 and c2 % c1 == 0
        """
    ),
    *rules("x + y == x + z -> y == z", either="+"),
]


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


MIN_RULES = [
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

MAX_RULES = [
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


AND_RULES = [
    *rules("x and x -> x"),
    *rules(
        """
        x and (not x) -> False
        x == y and x != y -> False
        x < y and y <= x -> False
        x < y and y < x -> False
        x < c1 and c2 < x -> False if c2 + 1 >= c1
        x < c1 and c2 <= x -> False if c2 >= c1
        x <= c1 and c2 < x -> False if c2 >= c1
        x <= c1 and c2 <= x -> False if c2 > c1
        x == c1 and x != c2 -> x == c1 if c1 != c2
        x == c1 and x == c2 -> False if c1 != c2
        """,
        either="and",
    ),
]

OR_RULES = [
    *rules("x or x -> x"),
    *rules(
        """
        x or (not x) -> True
        x == y or x != y -> True
        x < y or y <= x -> True
        x <= y or y <= x -> True
        x < c1 or c2 < x -> True if c2 < c1
        x < c1 or c2 <= x -> True if c2 <= c1
        x <= c1 or c2 < x -> True if c2 <= c1
        x <= c1 or c2 <= x -> True if c2 <= c1 + 1
        x != c1 or x == c2 -> x != c1 if c1 != c2
        x != c1 or x != c2 -> True if c1 != c2
        """,
        either="or",
    ),
]

NOT_RULES = rules(
    """
    not (not x) -> x
    not (x < y) -> y <= x
    not (x <= y) -> y < x
    not (x == y) -> x != y
    not (x != y) -> x == y
    not (x or y) -> (not x) and (not y)
    not (x and y) -> (not x) or (not y)
    """
)

SELECT_RULES = rules(
    """
    select(b, x, x) -> x
    select(not b, x, y) -> select(b, y, x)
    """
)


_LANEWISE = "\n".join(
    f"{pattern} -> broadcast({scalar}, n)"
    for sign in ("+", "-", "*", "//", "%", "==", "!=", "<", "<=", "and", "or")
    for pattern, scalar in [(f"broadcast(x, n) {sign} broadcast(y, n)", f"x {sign} y")]
)
_CALLED = "\n".join(
    f"{name}(broadcast(x, n), broadcast(y, n)) -> broadcast({name}(x, y), n)"
    for name in ("tdiv", "tmod", "min", "max")
)

VECTOR_RULES = [
    *rules(_LANEWISE),
    *rules(_CALLED),
    *rules("not broadcast(x, n) -> broadcast(not x, n)"),
    *rules(
        """
        ramp(x, y, n) + ramp(z, w, n) -> ramp(x + z, y + w, n)
        ramp(x, y, n) + broadcast(z, n) -> ramp(x + z, y, n)
        broadcast(z, n) + ramp(x, y, n) -> ramp(z + x, y, n)
        ramp(x, y, n) - ramp(z, w, n) -> ramp(x - z, y - w, n)
        ramp(x, y, n) - broadcast(z, n) -> ramp(x - z, y, n)
        broadcast(z, n) - ramp(x, y, n) -> ramp(z - x, 0 - y, n)
        ramp(x, y, n) * broadcast(z, n) -> ramp(x * z, y * z, n)
        broadcast(z, n) * ramp(x, y, n) -> ramp(x * z, y * z, n)
        x + broadcast(0, n) -> x
        broadcast(0, n) + x -> x
        x - broadcast(0, n) -> x
        """
    ),
    *rules(
        """
        min(min(x, broadcast(y, n)), broadcast(z, n)) -> min(x, broadcast(min(y, z), n))
        max(max(x, broadcast(y, n)), broadcast(z, n)) -> max(x, broadcast(max(y, z), n))
        """
    ),
    # A ramp whose stride is a multiple of the divisor goes on by as much each lane.
    *rules(
        """
        ramp(x, c1, n) // broadcast(c2, n) -> ramp(x // c2, c1 // c2, n) if c1 % c2 == 0
        ramp(x, c1, n) % broadcast(c2, n) -> broadcast(x % c2, n) if c1 % c2 == 0
        tdiv(ramp(x, c1, n), broadcast(c2, n)) -> ramp(tdiv(x, c2), tdiv(c1, c2), n)
            if c2 > 0 and c1 >= 0 and c1 % c2 == 0 and nonneg(x)
        tmod(ramp(x, c1, n), broadcast(c2, n)) -> broadcast(tmod(x, c2), n)
            if c2 > 0 and c1 >= 0 and c1 % c2 == 0 and nonneg(x)
        """
    ),
]
