"""Indices are divided into what is iterated over outside, and inside."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from parpass import structural_equal, tir
from parpass.ir.node import post_order
from parpass.tir.arith import (
    IterMark,
    IterSumExpr,
    normalize_iter_map_to_expr,
    subspace_divide,
)
from tests.support.iterators import iter_maps, points
from tests.support.prim_values import value_of

X, Y, Z = (tir.Var(name) for name in "xyz")
RANGES = {X: tir.Range(3), Y: tir.Range(4), Z: tir.Range(5)}
INDEX = Z * 12 + Y * 3 + X


def plain(mark: IterMark) -> Any:
    """Return an iterator as an expression of those that it is made of."""
    source: Any = mark.source
    return normalize_iter_map_to_expr(source)


@pytest.mark.slow
@settings(max_examples=30)
@given(iter_maps())
def test_an_index_is_the_outer_one_times_an_extent_and_the_inner_one(case: Any):
    indices, ranges, predicate = case
    inside = [*ranges][:1]
    found = subspace_divide(indices, ranges, inside, predicate)
    for index, (outer, inner) in zip(indices, found[:-1], strict=bool(found)):
        whole = plain(outer) * inner.extent + plain(inner)
        for point in points(ranges, predicate):
            assert value_of(index, point) == value_of(whole, point)
        assert {*inside}.isdisjoint(post_order(plain(outer)))
        assert {*ranges}.intersection(post_order(plain(inner))) <= {*inside}
    for conditions in found[-1:]:
        both = tir.all(*(one.extent for one in conditions))
        for point in points(ranges, predicate):
            assert value_of(both, point)


def test_a_condition_is_of_one_of_the_spaces():
    found = subspace_divide([INDEX], RANGES, [X], Z * 4 + Y < 18)
    assert structural_equal([plain(found[0][0]), plain(found[0][1])], [Z * 4 + Y, X])
    assert structural_equal(
        [one.extent for one in found[1]], [Z * 4 + Y < 18, tir.const(1, "bool")]
    )
    assert isinstance(found[1][0].source, IterSumExpr)


@pytest.mark.parametrize(
    ("inside", "predicate"),
    [
        ([Y], True),  # is in the midst of the others
        ([X], INDEX < 50),  # goes across
    ],
)
def test_what_cannot_be_divided_is_not(inside: Any, predicate: Any):
    assert subspace_divide([INDEX], RANGES, inside, predicate) == []


def test_splits_are_divided_at_the_boundary_alone():
    fused = Y * 3 + X
    found = subspace_divide([fused // 6, fused // 3 % 2, fused % 3], RANGES, [X])
    assert len(found) == 4
    assert structural_equal(plain(found[0][0]), Y // 2)
    assert structural_equal(plain(found[2][1]), X)
    assert subspace_divide([fused // 4, fused % 4], RANGES, [X]) == []
