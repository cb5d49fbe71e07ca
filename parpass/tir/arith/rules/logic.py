"""Rules of conditions: of comparisons that exclude each other, or leave nothing out."""

from __future__ import annotations

from parpass.tir.arith.rule_text import rules

AND = [
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

OR = [
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

NOT = rules(
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

SELECT = rules(
    """
    select(b, x, x) -> x
    select(not b, x, y) -> select(b, y, x)
    """
)
