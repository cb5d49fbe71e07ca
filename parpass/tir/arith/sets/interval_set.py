"""Sets of ints between two expressions: what an expression may be, as an expression.

An end that is missing is an infinity: `NEG_INF` or `POS_INF`, variables that stand for
no value, as in TVM.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import force_setattr

from parpass.tir.expr import Var
from parpass.tir.op import add, const, maximum, minimum, subtract
from parpass.tir.prim_expr import IntImm, PrimExpr, as_prim_expr

NEG_INF = Var("neg_inf", "handle")
POS_INF = Var("pos_inf", "handle")


class IntervalSet(msgspec.Struct, frozen=True, eq=False):
    """The ints from one expression to another one, both included.

    Attributes:
        min_value: The least; `NEG_INF` where there is none. A number makes an int32.
        max_value: The greatest; `POS_INF` where there is none.
    """

    min_value: Any
    max_value: Any

    def __post_init__(self) -> None:
        force_setattr(self, "min_value", as_prim_expr(self.min_value))
        force_setattr(self, "max_value", as_prim_expr(self.max_value))

    def __reduce__(self) -> tuple[Any, ...]:
        low = self.min_value if self.has_lower_bound() else None
        high = self.max_value if self.has_upper_bound() else None
        return _restored, (self.is_nothing(), low, high)

    def __repr__(self) -> str:
        return f"IntervalSet[{self.min_value!r}, {self.max_value!r}]"

    def is_nothing(self) -> bool:
        """Return whether there is no int in it, by its infinities."""
        return self.min_value is POS_INF or self.max_value is NEG_INF

    def is_everything(self) -> bool:
        """Return whether all ints are in it."""
        return self.min_value is NEG_INF and self.max_value is POS_INF

    def is_single_point(self) -> bool:
        """Return whether there is one int in it, by the look of its ends."""
        low, high = self.min_value, self.max_value
        if isinstance(low, IntImm) and isinstance(high, IntImm):
            return low.value == high.value
        return low is high

    def has_lower_bound(self) -> bool:
        """Return whether there is a least int in it."""
        return self.min_value is not NEG_INF and not self.is_nothing()

    def has_upper_bound(self) -> bool:
        """Return whether there is a greatest int in it."""
        return self.max_value is not POS_INF and not self.is_nothing()


def single_point(value: Any) -> IntervalSet:
    """Return the set of one value."""
    expr = as_prim_expr(value)
    return IntervalSet(expr, expr)


def from_min_extent(low: PrimExpr, count: PrimExpr) -> IntervalSet:
    """Return the set of so many ints, from one on."""
    if isinstance(count, IntImm) and count.value == 1:
        return single_point(low)
    return IntervalSet(low, subtract(add(count, low), const(1, low.dtype)))


EVERYTHING = IntervalSet(NEG_INF, POS_INF)
NOTHING = IntervalSet(POS_INF, NEG_INF)


def _restored(is_nothing: bool, low: Any, high: Any) -> IntervalSet:
    if is_nothing:
        return NOTHING
    return IntervalSet(
        NEG_INF if low is None else low, POS_INF if high is None else high
    )


def least(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return the lesser of two ends."""
    if a is NEG_INF or b is POS_INF:
        return a
    return b if b is NEG_INF or a is POS_INF else minimum(a, b)


def greatest(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return the greater of two ends."""
    if a is POS_INF or b is NEG_INF:
        return a
    return b if b is POS_INF or a is NEG_INF else maximum(a, b)


def union_of(a: IntervalSet, b: IntervalSet) -> IntervalSet:
    """Return the least interval that has both."""
    if a.is_nothing() or b.is_nothing():
        return b if a.is_nothing() else a
    return IntervalSet(
        least(a.min_value, b.min_value), greatest(a.max_value, b.max_value)
    )
