"""Generated comparisons that are linear in a few variables of small ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from parpass import tir

VARIABLES = tuple(tir.Var(name) for name in "xyz")
RANGES = {
    var: tir.Range(low, high)
    for var, (low, high) in zip(VARIABLES, [(-5, 6), (0, 7), (-3, 4)], strict=True)
}
_FACTORS = st.lists(st.integers(-3, 3), min_size=4, max_size=4)


@st.composite
def relations(draw: st.DrawFn, kinds: Sequence[type[Any]]) -> Any:
    """Return a comparison of two sums of multiples of the variables."""
    return draw(st.sampled_from(kinds))(draw(_sums()), draw(_sums()))


@st.composite
def _sums(draw: st.DrawFn) -> Any:
    *factors, result = draw(_FACTORS)
    total: Any = tir.const(result)
    for var, factor in zip(VARIABLES, factors, strict=True):
        total = total + var * factor
    return total
