"""In all of a deduced set the comparison holds, whatever relaxed variables are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import tir
from parpass.tir.arith import Analyzer, IntervalSet, deduce_bound
from tests.support.prim_values import value_of
from tests.support.profiles import examples

A, B, C = (tir.Var(name) for name in "abc")
COMPARED = (tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ)
Draw = st.DrawFn


@st.composite
def comparisons(draw: Draw) -> Any:
    """Return a comparison that has `A` once, and other variables."""
    expr: Any = A
    for _ in range(draw(st.integers(0, 4))):
        other = draw(st.sampled_from((B, C, B - C, tir.const(3), tir.const(-2))))
        kind = draw(st.sampled_from((tir.Add, tir.Sub, tir.Mul)))
        swapped = draw(st.booleans())
        expr = kind(other, expr) if swapped else kind(expr, other)
    bound = draw(st.sampled_from((B * 2, C + 1, tir.const(7), tir.const(-5))))
    kind = draw(st.sampled_from(COMPARED))
    return kind(bound, expr) if draw(st.booleans()) else kind(expr, bound)


def within(value: int, found: IntervalSet, values: dict[Any, int]) -> bool:
    low, high = found.min_value, found.max_value
    above = not found.has_lower_bound() or value_of(low, values) <= value
    return above and (not found.has_upper_bound() or value <= value_of(high, values))


@pytest.mark.slow
@given(comparisons(), st.sampled_from([(1, 3), (-3, -1), (-1, 2)]), st.booleans())
@examples(1)
def test_the_comparison_holds_in_all_of_the_set(
    comparison: Any, hinted: tuple[int, int], relaxed: bool
):
    hints = {B: IntervalSet(*hinted), C: IntervalSet(2, 4)}
    relax = {C: IntervalSet(2, 4)} if relaxed else {}
    found = deduce_bound(A, comparison, hints, relax)
    if found.is_nothing():
        return
    for b in range(hinted[0], hinted[1] + 1):
        for a in range(-20, 21):
            for c in range(2, 5):
                values = {A: a, B: b, C: c}
                if within(a, found, values):
                    assert value_of(comparison, values)


@pytest.mark.parametrize(
    ("comparison", "low", "high"),
    [
        (A < B, None, B - 1),
        (B > A, None, B - 1),
        (A >= B, B, None),
        (tir.EQ(A + 1, B), B - 1, B - 1),
        (A * 4 <= B, None, tir.floordiv(B, 4)),
        (A * -4 <= B, tir.floordiv(B, -4) + 1, None),
        (B - A < 3, B - 2, None),
        (tir.EQ(A * 5, -10), -2, -2),
    ],
)
def test_a_bound_is_what_the_comparison_says(comparison: Any, low: Any, high: Any):
    found = deduce_bound(A, comparison, {}, {})
    analyzer = Analyzer()
    assert found.has_lower_bound() is (low is not None)
    assert found.has_upper_bound() is (high is not None)
    assert low is None or analyzer.can_prove_equal(found.min_value, low)
    assert high is None or analyzer.can_prove_equal(found.max_value, high)


@pytest.mark.parametrize(
    "comparison",
    [
        A + B,  # no comparison
        A * 2 - A > B,  # the variable twice
        (A + B > 3).astype("int32") > C,
        tir.NE(A, B),
        A * B > 3,  # of a factor of no sign
        tir.max(A, B) < 3,
        tir.EQ(A * 4, B),  # which 4 may not divide
        tir.BufferLoad(tir.decl_buffer((4,), "int32"), [0]) > A,
        tir.Var("u", "uint32") < 3,
    ],
)
def test_nothing_is_deduced_where_nothing_is_known(comparison: Any):
    assert deduce_bound(A, comparison, {B: IntervalSet(-1, 3)}, {}).is_nothing()


def test_a_variable_that_is_relaxed_is_not_in_the_bound():
    found = deduce_bound(A, A + B < C, {}, {B: IntervalSet(0, C - 4)})
    assert Analyzer().can_prove_equal(found.max_value, 3)
    around = {B: IntervalSet(A, A + 2)}
    assert deduce_bound(A, A + B < C, {}, around).is_nothing()


@pytest.mark.slow
def test_long_sums_are_solved_without_recursion():
    total: Any = A
    for at in range(3_000):
        total = total + tir.Var(f"v{at}")
    assert deduce_bound(A, total < 3, {}, {}).has_upper_bound()
