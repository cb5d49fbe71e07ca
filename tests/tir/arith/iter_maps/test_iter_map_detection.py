"""Indices that are found to be iterators are such, by all values that they take."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings

from parpass import structural_equal, tir
from parpass.errors import ArgumentError, IRTypeError
from parpass.tir.arith import (
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    normalize_iter_map_to_expr,
)
from tests.support.iterators import iter_maps, points
from tests.support.prim_values import value_of

Case = tuple[list[Any], dict[tir.Var, Any], Any]
X, Y = tir.Var("x"), tir.Var("y")
N = tir.SizeVar("n")
RANGES = {X: tir.Range(4), Y: tir.Range(6)}


def values_of(found: IterSumExpr) -> list[int]:
    """Return the values that an index is said to take."""
    base = int(found.base)
    if not found.args:
        return [base]
    [split] = found.args
    return [base + int(split.scale) * at for at in range(int(split.extent))]


def check_detected(case: Case, *, is_bijective: bool) -> bool:
    """Check what is found by all values of the iterators; return whether it is any."""
    indices, ranges, predicate = case
    found = detect_iter_map(indices, ranges, predicate, is_bijective)
    if not found:
        return False
    given_points = list(points(ranges, predicate))
    taken = [tuple(value_of(one, at) for one in indices) for at in given_points]
    plain = [normalize_iter_map_to_expr(one) for one in found]
    assert taken == [tuple(value_of(one, at) for one in plain) for at in given_points]
    assert {*taken} == {*itertools.product(*map(values_of, found))}
    if is_bijective:
        assert len({*taken}) == len(given_points)
        check_inverse(found, taken, given_points)
    return True


def check_inverse(found: list[IterSumExpr], taken: Any, given_points: Any):
    outputs = [tir.Var(f"o{at}") for at in range(len(found))]
    inverse = inverse_affine_iter_map(found, outputs)
    for output_values, point in zip(taken, given_points, strict=True):
        values = dict(zip(outputs, output_values, strict=True))
        for var, expr in inverse.items():
            assert value_of(expr, values) == point[var]


@pytest.mark.slow
@settings(max_examples=60)
@given(iter_maps())
def test_indices_take_each_combination_of_their_values(case: Case):
    check_detected(case, is_bijective=False)
    check_detected(case, is_bijective=True)


@pytest.mark.parametrize(
    ("indices", "scales"),
    [
        ([X * 6 + Y], [(24, 1, 0)]),
        ([Y * 8 + X * 2 + 5], [(24, 2, 5)]),
        ([Y // 2, Y % 2 * 3, X], [(3, 1, 0), (2, 3, 0), (4, 1, 0)]),
        ([(X * 6 + Y) // 8, (X * 6 + Y) % 8], [(3, 1, 0), (8, 1, 0)]),
        ([Y * 2 // 4, Y * 2 % 4, X * N], [(3, 1, 0), (2, 2, 0), (4, N, 0)]),
        ([X - Y + Y, 3 - Y], [(4, 1, 0), (6, -1, 3)]),
    ],
)
def test_splits_have_extents_scales_and_bases(indices: Any, scales: Any):
    found = detect_iter_map(indices, RANGES)
    splits = [one.args[0] for one in found]
    assert structural_equal(
        [
            part
            for one, split in zip(found, splits, strict=True)
            for part in (split.extent, split.scale, one.base)
        ],
        [part for one in scales for part in one],
    )


@pytest.mark.parametrize(
    ("indices", "ranges", "predicate"),
    [
        ([X, X], RANGES, True),  # the same twice
        ([X * 6 + Y, Y], RANGES, True),
        ([X * 5 + Y], RANGES, True),  # the factor is none of the extents
        ([X * Y], RANGES, True),
        ([Y // 4], RANGES, True),  # 4 does not divide 6
        ([Y // X], RANGES, True),
        ([X // (0 - N)], RANGES, True),
        ([tir.max(X, Y)], RANGES, True),
        ([X // 2, X % 2, X], RANGES, True),
        ([X], {X: tir.Range(Y), Y: tir.Range(6)}, True),
        ([X * 6 + Y], RANGES, False),
        ([X * 6 + Y], RANGES, tir.LE(X * 6 + Y, 20)),
        ([X * 6 + Y], RANGES, X < Y),
        ([X, Y], RANGES, X * 6 + Y < 20),  # not each combination
        ([X * 6 + Y], RANGES, X * 2 < 5),
    ],
)
def test_others_are_none(indices: Any, ranges: Any, predicate: Any):
    assert detect_iter_map(indices, ranges, predicate) == []


def test_a_predicate_bounds_a_sum():
    index = X * 6 + Y
    for bound, extent in ((20, 20), (30, 24)):
        [found] = detect_iter_map([index], RANGES, index < bound)
        assert structural_equal(found.args[0].extent, extent)
    [found] = detect_iter_map([X], RANGES, tir.GT(3, X))
    assert structural_equal(found.args[0].extent, 3)


def test_a_bijective_map_uses_all_of_each_iterator():
    assert detect_iter_map([Y // 2], RANGES)
    assert not detect_iter_map([Y // 2], RANGES, True, require_bijective=True)
    assert not detect_iter_map([Y], RANGES, True, require_bijective=True)


def test_a_sum_of_many_terms_needs_no_recursion():
    deep: Any = X
    for _ in range(3000):
        deep = deep + 1
    [found] = detect_iter_map([deep], RANGES)
    assert structural_equal(found.base, 3000)


def test_parts_of_other_kinds_are_refused():
    with pytest.raises(IRTypeError, match="expected an IterMark"):
        IterSplitExpr(X, 1, 4, 1)
    with pytest.raises(IRTypeError, match="expected IterSplitExprs"):
        IterSumExpr([X], 0)
    mark = IterMark(X, 4)
    splits = [IterSplitExpr(mark, 1, 4, scale) for scale in (5, 1)]
    with pytest.raises(ArgumentError, match="got 5 before 1 of 4 values"):
        inverse_affine_iter_map([IterSumExpr(splits, 0)], [Y])
    with pytest.raises(ArgumentError, match="a value for each of 0 indices, got 1"):
        inverse_affine_iter_map([], [Y])
