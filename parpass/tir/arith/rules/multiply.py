"""Rules of products."""

from __future__ import annotations

from parpass.tir.arith.rule_text import rules

MUL = [
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
