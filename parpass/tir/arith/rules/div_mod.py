"""Rules of divisions: rounded towards zero, and rounded down.

Those rounded towards zero hold where dividends are not negative, if not exact.
"""

from __future__ import annotations

from parpass.tir.arith.rule_text import rules

DIV = [
    *rules("tdiv(x, x) -> 1"),
    *rules("tdiv(x * y, y) -> x", either="*"),
    *rules(
        """
        tdiv(x * c1, c2) -> x * tdiv(c1, c2) if c1 % c2 == 0
        tdiv(x * c1, c2) -> tdiv(x, tdiv(c2, c1)) if c1 != 0 and c2 % c1 == 0
        tdiv(tdiv(x, c1), c2) -> tdiv(x, c1 * c2) if c1 > 0 and c2 > 0
        tdiv(tdiv(x, c1) + c2, c3) -> tdiv(x + c1 * c2, c1 * c3)
            if c1 > 0 and c2 >= 0 and c3 > 0 and nonneg(x)
        tdiv(min(x * c1, y), c2) -> min(x * tdiv(c1, c2), tdiv(y, c2))
            if c2 > 0 and c1 % c2 == 0
        tdiv(min(y, x * c1), c2) -> min(tdiv(y, c2), x * tdiv(c1, c2))
            if c2 > 0 and c1 % c2 == 0
        tdiv(max(x * c1, y), c2) -> max(x * tdiv(c1, c2), tdiv(y, c2))
            if c2 > 0 and c1 % c2 == 0
        tdiv(max(y, x * c1), c2) -> max(tdiv(y, c2), x * tdiv(c1, c2))
            if c2 > 0 and c1 % c2 == 0
        tdiv(x * c1 + y, c2) -> x * tdiv(c1, c2) + tdiv(y, c2)
            if c2 > 0 and c1 % c2 == 0 and nonneg(x * c1) and nonneg(y)
        tdiv(y + x * c1, c2) -> tdiv(y, c2) + x * tdiv(c1, c2)
            if c2 > 0 and c1 % c2 == 0 and nonneg(x * c1) and nonneg(y)
        tdiv((x * c1 + y) + z, c2) -> x * tdiv(c1, c2) + tdiv(y + z, c2)
            if c2 > 0 and c1 % c2 == 0 and nonneg(x * c1) and nonneg(y + z)
        tdiv((y + x * c1) + z, c2) -> x * tdiv(c1, c2) + tdiv(y + z, c2)
            if c2 > 0 and c1 % c2 == 0 and nonneg(x * c1) and nonneg(y + z)
        tdiv((x * c1 - y) + z, c2) -> x * tdiv(c1, c2) + tdiv(z - y, c2)
            if c2 > 0 and c1 % c2 == 0 and nonneg(x * c1) and nonneg(z - y)
        tdiv(x + c1, c2) -> tdiv(x, c2) + tdiv(c1, c2)
            if c2 > 0 and c1 % c2 == 0 and nonneg(x) and nonneg(x + c1)
        """
    ),
    *rules(
        """
        tdiv(x + y, x) -> tdiv(y, x) + 1 if nonneg(x) and nonneg(y)
        tdiv(y + x, x) -> tdiv(y, x) + 1 if nonneg(x) and nonneg(y)
        tdiv((x + y) + z, x) -> tdiv(y + z, x) + 1 if nonneg(x) and nonneg(y + z)
        tdiv((y + x) + z, x) -> tdiv(y + z, x) + 1 if nonneg(x) and nonneg(y + z)
        tdiv(y + (x + z), x) -> tdiv(y + z, x) + 1 if nonneg(x) and nonneg(y + z)
        tdiv(y + (z + x), x) -> tdiv(y + z, x) + 1 if nonneg(x) and nonneg(y + z)
        """
    ),
    *rules(
        """
        tdiv(x * z + y, z) -> x + tdiv(y, z) if nonneg(x) and nonneg(y) and nonneg(z)
        tdiv(y + x * z, z) -> tdiv(y, z) + x if nonneg(x) and nonneg(y) and nonneg(z)
        """,
        either="*",
    ),
]

MOD = [
    *rules(
        """
        tmod(x, x) -> 0
        tmod(x * c1, c2) -> 0 if c1 % c2 == 0
        tmod(x, c1) -> tmod(x, -c1) if c1 < 0
        tmod(x + c1, c2) -> tmod(x, c2) if c1 % c2 == 0 and nonneg(x) and nonneg(x + c1)
        """
    ),
    *rules(
        "tmod(x * c1 + y, c2) -> tmod(y, c2) "
        "if c1 % c2 == 0 and nonneg(x * c1) and nonneg(y)",
        either="+",
    ),
    *rules("tmod(x * y, y) -> 0", either="*"),
]

FLOOR_DIV = [
    *rules("x // x -> 1"),
    *rules("(x * y) // y -> x", either="*"),
    *rules(
        """
        (x * c1) // c2 -> x * (c1 // c2) if c1 % c2 == 0
        (x * c1) // c2 -> x // (c2 // c1) if c1 != 0 and c2 % c1 == 0
        (x // c1) // c2 -> x // (c1 * c2) if c1 > 0 and c2 > 0
        (x // c1 + c2) // c3 -> (x + c1 * c2) // (c1 * c3) if c1 > 0 and c3 > 0
        min(x * c1, y) // c2 -> min(x * (c1 // c2), y // c2) if c2 > 0 and c1 % c2 == 0
        min(y, x * c1) // c2 -> min(y // c2, x * (c1 // c2)) if c2 > 0 and c1 % c2 == 0
        max(x * c1, y) // c2 -> max(x * (c1 // c2), y // c2) if c2 > 0 and c1 % c2 == 0
        max(y, x * c1) // c2 -> max(y // c2, x * (c1 // c2)) if c2 > 0 and c1 % c2 == 0
        (x * c1 + y) // c2 -> x * (c1 // c2) + y // c2 if c1 % c2 == 0
        (y + x * c1) // c2 -> y // c2 + x * (c1 // c2) if c1 % c2 == 0
        ((x * c1 + y) + z) // c2 -> x * (c1 // c2) + (y + z) // c2 if c1 % c2 == 0
        ((y + x * c1) + z) // c2 -> x * (c1 // c2) + (y + z) // c2 if c1 % c2 == 0
        ((x * c1 - y) + z) // c2 -> x * (c1 // c2) + (z - y) // c2 if c1 % c2 == 0
        (x * c1 - y) // c2 -> x * (c1 // c2) + (0 - y) // c2 if c1 % c2 == 0
        (x + c1) // c2 -> x // c2 + c1 // c2 if c1 % c2 == 0
        """
    ),
    *rules(
        """
        (x + y) // x -> y // x + 1
        (y + x) // x -> y // x + 1
        ((x + y) + z) // x -> (y + z) // x + 1
        ((y + x) + z) // x -> (y + z) // x + 1
        (y + (x + z)) // x -> (y + z) // x + 1
        (y + (z + x)) // x -> (y + z) // x + 1
        """
    ),
    *rules(
        """
        (x * z + y) // z -> x + y // z
        (y + x * z) // z -> y // z + x
        """,
        either="*",
    ),
]

FLOOR_MOD = [
    *rules(
        """
        x % x -> 0
        (x * c1) % c2 -> 0 if c1 % c2 == 0
        (x + c1) % c2 -> x % c2 if c1 % c2 == 0
        (x % c1) % c2 -> x % c2 if c1 % c2 == 0
        """
    ),
    *rules("(x * c1 + y) % c2 -> y % c2 if c1 % c2 == 0", either="+"),
    *rules("(x * y) % y -> 0", either="*"),
    *rules("(x * y + z) % y -> z % y", either="+ *"),
]
