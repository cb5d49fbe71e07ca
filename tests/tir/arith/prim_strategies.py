"""Generated loop expressions over a few variables of small ranges."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from parpass import tir

Draw = st.DrawFn
SMALL = range(-4, 5)
VARIABLES = tuple(tir.Var(name, "int32") for name in "xyz")

_SUMS = (tir.Add, tir.Sub, tir.Min, tir.Max, tir.Mul)
_DIVISIONS = (tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod)
_COMPARISONS = (tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE)


@st.composite
def indices(draw: Draw, depth: int = 4) -> Any:
    """Return an expression of int32."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        if draw(st.integers(0, 2)) == 0:
            return tir.const(draw(st.integers(-6, 9)))
        return draw(st.sampled_from(VARIABLES))
    chosen = draw(st.integers(0, 9))
    a = draw(indices(depth - 1))
    if chosen < 3:
        divide = draw(st.sampled_from(_DIVISIONS))
        return divide(a, draw(st.sampled_from((-3, 1, 2, 3, 4, 6, 8))))
    if chosen == 3:
        return tir.Mul(a, tir.const(draw(st.sampled_from((-3, -1, 2, 3, 4, 8)))))
    b = draw(indices(depth - 1))
    if chosen == 4:
        return tir.Select(draw(conditions(depth - 2)), a, b)
    if chosen == 5:
        return tir.if_then_else(draw(conditions(depth - 2)), a, b)
    return draw(st.sampled_from(_SUMS))(a, b)


@st.composite
def conditions(draw: Draw, depth: int = 3) -> Any:
    """Return a condition over such expressions."""
    chosen = draw(st.integers(0, 5)) if depth > 0 else 5
    if chosen == 0:
        return tir.Not(draw(conditions(depth - 1)))
    if chosen < 3:
        join = tir.And if chosen == 1 else tir.Or
        return join(draw(conditions(depth - 1)), draw(conditions(depth - 1)))
    compare = draw(st.sampled_from(_COMPARISONS))
    below = max(depth - 1, 0)
    return compare(draw(indices(below)), draw(indices(below)))
