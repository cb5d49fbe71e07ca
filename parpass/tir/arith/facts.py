"""Facts about expressions: ranges, and conditions that hold."""

from __future__ import annotations

from typing import Any

from parpass.tir.arith.expr_table import ExprTable
from parpass.tir.arith.interval import Interval
from parpass.tir.expr import EQ, LE, LT, NE, And, IntImm, PrimExpr


def conjuncts(condition: PrimExpr) -> list[PrimExpr]:
    """Return the conditions of which one is made by `and`, in their order."""
    found, waiting = list[PrimExpr](), [condition]
    while waiting:
        one = waiting.pop()
        if isinstance(one, And):
            waiting += (one.b, one.a)
        else:
            found.append(one)
    return found


class Facts:
    """Facts about the expressions of a table, which may be taken back.

    Attributes:
        variables: What variables are said to be in, whatever their dtype has.
        bounds: Intervals, by the expression that is in them.
        truths: Conditions that hold, or do not.
    """

    def __init__(self, table: ExprTable) -> None:
        self._table = table
        self.variables: dict[PrimExpr, Interval] = {}
        self.bounds: dict[PrimExpr, Interval] = {}
        self.truths: dict[PrimExpr, bool] = {}
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []

    def clear(self) -> None:
        """Forget all."""
        for facts in (self.variables, self.bounds, self.truths):
            facts.clear()

    def mark(self) -> int:
        """Return what `take_back` needs to come back to the facts of now."""
        return len(self._undo)

    def take_back(self, mark: int) -> None:
        """Forget all facts that were learnt since a mark."""
        while len(self._undo) > mark:
            facts, key, before = self._undo.pop()
            if before is None:
                facts.pop(key, None)
            else:
                facts[key] = before

    def within(self, expr: PrimExpr, interval: Interval) -> None:
        """Learn that an expression is in an interval, besides those known."""
        known = self.bounds.get(expr)
        self._set(self.bounds, expr, interval if known is None else known & interval)

    def holds(self, condition: PrimExpr) -> None:
        """Learn that a condition holds, and what follows from it."""
        for one in reversed(conjuncts(condition)):
            self._set(self.truths, one, True)
            if isinstance(one, EQ | NE | LT | LE):
                self._compared(one)

    def _compared(self, one: EQ | NE | LT | LE) -> None:
        a, b = one.a, one.b
        for kind, swapped, truth in _FOLLOWS[type(one)]:
            follows = self._table.node(kind, *((b, a) if swapped else (a, b)))
            self._set(self.truths, follows, truth)
        if isinstance(one, NE):
            return
        if isinstance(one, EQ):
            self._equal(a, b)
            self._equal(b, a)
            return
        gap = 1 if isinstance(one, LT) else 0
        if isinstance(b, IntImm):
            self.within(a, Interval.at_most(b.value - gap))
        if isinstance(a, IntImm):
            self.within(b, Interval.at_least(a.value + gap))

    def _equal(self, a: PrimExpr, b: PrimExpr) -> None:
        if isinstance(b, IntImm):
            self.within(a, Interval(b.value, b.value))

    def _set(self, facts: dict[Any, Any], key: Any, value: Any) -> None:
        self._undo.append((facts, key, facts.get(key)))
        facts[key] = value


# What follows of a comparison of a and b: another one, whether of b and a, and whether
# it holds.
_FOLLOWS: dict[type[PrimExpr], tuple[tuple[type[PrimExpr], bool, bool], ...]] = {
    LT: (
        (LE, False, True),
        (LE, True, False),
        (LT, True, False),
        (NE, False, True),
        (NE, True, True),
        (EQ, False, False),
        (EQ, True, False),
    ),
    LE: ((LT, True, False),),
    EQ: (
        (EQ, True, True),
        (NE, False, False),
        (NE, True, False),
        (LE, False, True),
        (LE, True, True),
        (LT, False, False),
        (LT, True, False),
    ),
    NE: ((NE, True, True), (EQ, False, False), (EQ, True, False)),
}
