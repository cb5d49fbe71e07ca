"""Rules of comparisons: of `<` and `==`, which the others are made of."""

from __future__ import annotations

from parpass.tir.arith.rule_text import rules

# The least and the greatest int that keep a bound on a multiple: c2 / c1 rounded up is
# -(-c2 // c1).
LT = [
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

EQ = [
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
