"""Rewriting rules of sums, differences, products and divisions.

Divisions round towards zero or down. The rules of those rounded towards zero hold where
dividends are not negative, unless the division is exact.
"""

from __future__ import annotations

from parpass.tir.arith.rule_language import rules

ADD_RULES = [
    *rules("c1 + x -> x + c1"),
    *rules("(x + c1) + c2 -> x + (c1 + c2)"),
    *rules(
        """
        x + (y - x) -> y
        (x - y) + (y - z) -> x - z
        max(x, y) + min(x, y) -> x + y
        (y - min(x, y)) + x -> max(x, y)
        (y - max(x, y)) + x -> min(x, y)
        """,
        either="+",
    ),
    *rules("min(x, y) + max(y, x) -> x + y", either="+"),
    *rules(
        """
        min(x, y - z) + z -> min(x + z, y)
        min(x - z, y) + z -> min(x, y + z)
        max(x, y - z) + z -> max(x + z, y)
        max(x - z, y) + z -> max(x, y + z)
        """,
        either="+",
    ),
    *rules(
        """
        min(x, y + c1) + c2 -> min(x + c2, y) if c1 == -c2
        min(x + c1, y) + c2 -> min(x, y + c2) if c1 == -c2
        max(x, y + c1) + c2 -> max(x + c2, y) if c1 == -c2
        max(x + c1, y) + c2 -> max(x, y + c2) if c1 == -c2
        """
    ),
    *rules(
        """
        select(b, x, y) + select(b, z, w) -> select(b, x + z, y + w)
        x + x -> x * 2
        x * c1 + x * c2 -> x * (c1 + c2)
        x * c1 + x -> x * (c1 + 1)
        (x // y) * y + x % y -> x
        tdiv(x, y) * y + tmod(x, y) -> x
        """,
        either="+",
    ),
    *rules("x * y + x * z -> x * (y + z)\nx * y + x -> x * (y + 1)", either="*"),
    *rules("x + x * y -> x * (y + 1)", either="*"),
    *rules(
        """
        (x + c1) + y -> (x + y) + c1
        x + (y + c1) -> (x + y) + c1
        (c1 - x) + y -> (y - x) + c1
        x + (c1 - y) -> (x - y) + c1
        """
    ),
]

SUB_RULES = [
    *rules(
        """
        x - x -> 0
        x - c1 -> x + (-c1)
        0 - x * c1 -> x * (-c1)
        c1 - (c2 - x) -> x + (c1 - c2)
        c1 - (x + c2) -> (c1 - c2) - x
        """
    ),
    *rules(
        """
        (x + y) - x -> y
        x - (x + y) -> 0 - y
        (x + y) - (x + z) -> y - z
        """,
        either="+",
    ),
    *rules(
        """
        (x - y) - x -> 0 - y
        x - (x - y) -> y
        (x - y) - (x - z) -> z - y
        (x - y) - (z - y) -> x - z
        """
    ),
    *rules(
        """
        min(x, y) - x -> min(0, y - x)
        min(x, y) - y -> min(x - y, 0)
        max(x, y) - x -> max(0, y - x)
        max(x, y) - y -> max(x - y, 0)
        x - min(x, y) -> max(0, x - y)
        y - min(x, y) -> max(y - x, 0)
        x - max(x, y) -> min(0, x - y)
        y - max(x, y) -> min(y - x, 0)
        """
    ),
    *rules(
        """
        min(x + y, z) - x -> min(y, z - x)
        min(z, x + y) - x -> min(z - x, y)
        max(x + y, z) - x -> max(y, z - x)
        max(z, x + y) - x -> max(z - x, y)
        x - min(x + y, z) -> max(0 - y, x - z)
        x - min(z, x + y) -> max(x - z, 0 - y)
        x - max(x + y, z) -> min(0 - y, x - z)
        x - max(z, x + y) -> min(x - z, 0 - y)
        """,
        either="+",
    ),
    *rules(
        """
        min(x, y) - min(y, x) -> 0
        max(x, y) - max(y, x) -> 0
        min(x, y) - min(z, w) -> x - z if same(x - z, y - w)
        min(x, y) - min(z, w) -> x - w if same(x - w, y - z)
        max(x, y) - max(z, w) -> x - z if same(x - z, y - w)
        max(x, y) - max(z, w) -> x - w if same(x - w, y - z)
        select(b, x, y) - select(b, z, w) -> select(b, x - z, y - w)
        select(b, x, y) - x -> select(b, 0, y - x)
        select(b, x, y) - y -> select(b, x - y, 0)
        """
    ),
    # What a division leaves, as the dividend without what was divided.
    *rules(
        """
        x - (x // c1) * c1 -> x % c1
        (x // c1) * c1 - x -> 0 - x % c1
        x - ((x + y) // c1) * c1 -> (x + y) % c1 - y
        ((x + y) // c1) * c1 - x -> y - (x + y) % c1
        x - ((x - y) // c1) * c1 -> (x - y) % c1 + y
        ((x - y) // c1) * c1 - x -> 0 - (x - y) % c1 - y
        x * c2 - (x // c1) * c3 -> (x % c1) * c2 if c3 == c1 * c2
        (x // c1) * c3 - x * c2 -> (x % c1) * (-c2) if c3 == c1 * c2
        x * c2 - ((x + y) // c1) * c3 -> ((x + y) % c1 - y) * c2 if c3 == c1 * c2
        x * c2 - ((x - y) // c1) * c3 -> ((x - y) % c1 + y) * c2 if c3 == c1 * c2
        ((x + y) // c1) * c3 - x * c2 -> (y - (x + y) % c1) * c2 if c3 == c1 * c2
        ((x - y) // c1) * c3 - x * c2 -> (0 - (x - y) % c1 - y) * c2 if c3 == c1 * c2
        (x + c1) // c3 - (x + c2) // c3 -> ((x + c2) % c3 + (c1 - c2)) // c3 if c3 > 0
        (x + c1) // c3 - x // c3 -> (x % c3 + c1) // c3 if c3 > 0
        """
    ),
    *rules(
        """
        x - tdiv(x, c1) * c1 -> tmod(x, c1)
        tdiv(x, c1) * c1 - x -> 0 - tmod(x, c1)
        x - tdiv(x + y, c1) * c1 -> tmod(x + y, c1) - y
        tdiv(x + y, c1) * c1 - x -> y - tmod(x + y, c1)
        x - tdiv(x - y, c1) * c1 -> tmod(x - y, c1) + y
        tdiv(x - y, c1) * c1 - x -> 0 - tmod(x - y, c1) - y
        x * c2 - tdiv(x, c1) * c3 -> tmod(x, c1) * c2 if c3 == c1 * c2
        tdiv(x, c1) * c3 - x * c2 -> tmod(x, c1) * (-c2) if c3 == c1 * c2
        x * c2 - tdiv(x + y, c1) * c3 -> (tmod(x + y, c1) - y) * c2 if c3 == c1 * c2
        x * c2 - tdiv(x - y, c1) * c3 -> (tmod(x - y, c1) + y) * c2 if c3 == c1 * c2
        tdiv(x + y, c1) * c3 - x * c2 -> (y - tmod(x + y, c1)) * c2 if c3 == c1 * c2
        tdiv(x - y, c1) * c3 - x * c2 -> (0 - tmod(x - y, c1) - y) * c2 if c3 == c1 * c2
        """
    ),
    *rules(
        """
        tdiv(x + c1, c3) - tdiv(x + c2, c3) -> tdiv(tmod(x + c2, c3) + (c1 - c2), c3)
            if c3 > 0 and c1 >= c2 and nonneg(x + c2)
        tdiv(x + c1, c3) - tdiv(x, c3) -> tdiv(tmod(x, c3) + c1, c3)
            if c3 > 0 and c1 >= 0 and nonneg(x)
        """
    ),
    *rules("x * c1 - x * c2 -> x * (c1 - c2)\nx * c1 - x -> x * (c1 - 1)"),
    *rules(
        """
        x * y - x * z -> x * (y - z)
        x * y - x -> x * (y - 1)
        x - x * y -> x * (1 - y)
        """,
        either="*",
    ),
    *rules(
        """
        x - y * c1 -> x + y * (-c1) if c1 < 0
        (x + c1) - y -> (x - y) + c1
        x - (y + c1) -> (x - y) + (-c1)
        x - (c1 - y) -> (x + y) + (-c1)
        """
    ),
]


MUL_RULES = [
    *rules(
        """
        c1 * x -> x * c1
        (x * c1) * c2 -> x * (c1 * c2)
        (x + c1) * c2 -> x * c2 + c1 * c2
        (x - y) * c1 -> (y - x) * (-c1) if c1 < 0
        """
    ),
    *rules("min(x, y) * max(x, y) -> x * y", either="*"),
    *rules("min(x, y) * max(y, x) -> x * y", either="*"),
    *rules(
        """
        x * (y * c1) -> (x * y) * c1
        (x * c1) * y -> (x * y) * c1
        """
    ),
]


DIV_RULES = [
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

MOD_RULES = [
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

FLOOR_DIV_RULES = [
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

FLOOR_MOD_RULES = [
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
