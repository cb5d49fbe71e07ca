"""Rules of sums and differences."""

from __future__ import annotations

from parpass.tir.arith.rule_text import rules

ADD = [
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

SUB = [
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
