"""Every element of an estimated region is touched."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parpass import tir
from parpass.tir.arith import estimate_region_lower_bound
from tests.support.prim_values import value_of

X, Y = tir.Var("x"), tir.Var("y")
TRUE = tir.IntImm("bool", 1)
Draw = st.DrawFn


def ranges(**given: tuple[int, int]) -> dict[Any, tir.Range]:
    return {
        {"x": X, "y": Y}[name]: tir.Range.from_min_extent(low, high - low)
        for name, (low, high) in given.items()
    }


def estimated(
    starts: list[Any], extents: list[int], domain: Any, predicate: Any
) -> Any:
    region = [
        tir.Range.from_min_extent(start, extent)
        for start, extent in zip(starts, extents, strict=True)
    ]
    found = estimate_region_lower_bound(region, domain, predicate)
    if found is None:
        return None
    return [(value_of(s.min_value, {}), value_of(s.max_value, {})) for s in found]


@pytest.mark.parametrize(
    ("starts", "extents", "domain", "predicate", "expected"),
    [
        ([X * 4], [8], ranges(x=(0, 64)), TRUE, [(0, 259)]),
        ([X * 4], [2], ranges(x=(0, 64)), TRUE, None),
        ([X, X + 1], [2, 3], ranges(x=(0, 64)), TRUE, None),
        ([X, Y], [1, 1], ranges(x=(2, 8), y=(0, 3)), TRUE, [(2, 7), (0, 2)]),
        ([X * -2 + 20], [2], ranges(x=(0, 4)), TRUE, [(14, 21)]),
        ([X // 4, X % 4], [1, 1], ranges(x=(0, 12)), TRUE, [(0, 2), (0, 3)]),
        ([X // 4, X % 4], [1, 1], ranges(x=(0, 10)), TRUE, None),
        ([X * 4 + Y], [1], ranges(x=(0, 4), y=(0, 4)), X * 4 + Y < 9, [(0, 8)]),
        ([X * 4 + Y], [1], ranges(x=(0, 4), y=(0, 4)), X * 4 + Y > 9, [(10, 15)]),
        ([X * 4 + Y], [1], ranges(x=(0, 4), y=(0, 4)), X < 3, None),
        ([X * 4 + Y], [1], ranges(x=(0, 4), y=(0, 3)), TRUE, None),
        ([X * X], [1], ranges(x=(0, 4)), TRUE, None),
        ([tir.const(3)], [5], ranges(x=(0, 4)), TRUE, [(3, 7)]),
    ],
)
def test_a_region_is_found_where_all_of_it_is_touched(
    starts: Any, extents: Any, domain: Any, predicate: Any, expected: Any
):
    assert estimated(starts, extents, domain, predicate) == expected


def test_ends_may_be_expressions_of_what_does_not_change():
    one = tir.Range.from_min_extent(Y * 2 + X, 3)
    found: Any = estimate_region_lower_bound([one], ranges(x=(0, 4)), TRUE)
    assert value_of(found[0].min_value, {Y: 5}) == 10
    assert value_of(found[0].max_value, {Y: 5}) == 15


@st.composite
def indices(draw: Draw) -> Any:
    """Return a sum of digits of the variables."""
    total: Any = tir.const(draw(st.integers(0, 3)))
    for _ in range(draw(st.integers(0, 3))):
        digit: Any = draw(st.sampled_from((X, Y)))
        if draw(st.booleans()):
            digit = digit % draw(st.sampled_from((2, 4, 6)))
        if draw(st.booleans()):
            digit = digit // draw(st.sampled_from((2, 4)))
        total += digit * draw(st.sampled_from((-2, 1, 2, 4, 8)))
    return total


@pytest.mark.slow
@given(st.lists(indices(), min_size=1, max_size=2), st.data())
@settings(max_examples=30, database=None, deadline=None)
def test_every_element_of_the_region_is_touched(starts: list[Any], data: Any):
    bounds = st.tuples(st.integers(0, 1), st.sampled_from((4, 5, 8, 12)))
    (x, width), (y, height) = data.draw(bounds), data.draw(bounds)
    domain = ranges(x=(x, x + width), y=(y, y + height))
    limit = data.draw(st.integers(0, 30))
    predicate = data.draw(st.sampled_from((TRUE, starts[0] < limit)))
    extents = [data.draw(st.integers(1, 4)) for _ in starts]
    found = estimated(starts, extents, domain, predicate)
    if found is None:
        return
    touched: set[tuple[int, ...]] = set()
    for values in itertools.product(range(x, x + width), range(y, y + height)):
        known = dict(zip((X, Y), values, strict=True))
        if value_of(predicate, known):
            corners = [value_of(start, known) for start in starts]
            boxes = [range(a, a + b) for a, b in zip(corners, extents, strict=True)]
            touched.update(itertools.product(*boxes))
    box = [range(low, high + 1) for low, high in found]
    assert touched.issuperset(itertools.product(*box))
