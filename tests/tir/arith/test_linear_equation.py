"""Factors of variables, and the bounds that conditions set them."""

from __future__ import annotations

from typing import Any

import pytest

from parpass import tir
from parpass.tir.arith import Analyzer, detect_clip_bound, detect_linear_equation

A, B, C = (tir.Var(name) for name in "abc")


def assert_equal(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one is other or Analyzer().can_prove_equal(one, other)


@pytest.mark.parametrize(
    ("expr", "variables", "factors"),
    [
        (A * 4 + B * 6 + 7, [A], [4, B * 6 + 7]),
        (A * 4 + B * 6 + 7, [A, B], [4, 6, 7]),
        (A * (B + 4) + A, [A], [B + 5, 0]),
        ((A * B + C) * 8 - C, [A, C], [B * 8, 7, 0]),
        (B - A, [A], [-1, B]),
        (tir.floordiv(B, 2) * A, [A], [tir.floordiv(B, 2), 0]),
        (B * 7, [A], [0, B * 7]),
        (B * 7, [], [B * 7]),
    ],
)
def test_an_expression_is_a_sum_of_multiples(
    expr: Any, variables: list[Any], factors: list[Any]
):
    assert_equal(detect_linear_equation(expr, variables), factors)


@pytest.mark.parametrize(
    ("expr", "variables"),
    [
        (A * 4 * (A + 1), [A]),
        (A * B, [A, B]),
        (tir.floordiv(A, 2), [A]),
        (tir.max(A, B), [B]),
    ],
)
def test_what_is_not_linear_has_no_factors(expr: Any, variables: list[Any]):
    assert detect_linear_equation(expr, variables) == []


def test_conditions_bound_variables_from_below_and_above():
    condition = tir.all(A * 1 < B * 6, A - 1 > 0, A <= 20)
    low, high = detect_clip_bound(condition, [A])
    assert_equal([low, high], [2, tir.min(B * 6 - 1, 20)])
    assert_equal(detect_clip_bound(B - 1 > 0, [A, B]), [None, None, 2, None])


@pytest.mark.parametrize(
    "condition",
    [A < B, A * 2 < 5, tir.any(A < 3, A > 5), tir.EQ(A, 3), C < 4],
)
def test_other_conditions_are_no_bounds(condition: Any):
    assert detect_clip_bound(condition, [A, B]) == []
