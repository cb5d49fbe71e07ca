"""Inequalities become ranges, and lose no solution."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parpass import structural_equal, testing, tir
from parpass.errors import ArgumentError
from parpass.tir.arith import (
    Analyzer,
    IntConstraints,
    IntGroupBounds,
    solve_linear_inequalities,
)
from parpass.tir.arith.linear_systems.inequality_solver import (
    solve_inequalities_as_condition,
)
from tests.support.linear_relations import RANGES, VARIABLES, relations

X, Y, Z = VARIABLES
COMPARISONS = (tir.EQ, tir.LE, tir.LT, tir.GE, tir.GT)
TRUE = tir.const(1, "bool")


def all_of(conditions: Any) -> Any:
    return tir.all(TRUE, *conditions)


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(relations(COMPARISONS), min_size=1, max_size=3))
def test_solutions_are_the_same_whichever_form_they_are_asked_for(problem: list[Any]):
    conditions = solve_inequalities_as_condition(VARIABLES, RANGES, problem)
    claim = tir.EQ(all_of(problem), all_of(conditions))
    testing.check_bool_expr_is_true(claim, RANGES)
    ranged = solve_linear_inequalities(problem, VARIABLES, RANGES)
    within = [
        tir.all(var >= one.min, var < one.min + one.extent)
        for var, one in ranged.ranges.items()
    ]
    claim = tir.EQ(all_of(problem), all_of([*within, *ranged.relations]))
    testing.check_bool_expr_is_true(claim, RANGES)
    deskewed = solve_linear_inequalities(problem, VARIABLES, RANGES, deskew_range=True)
    testing.check_int_constraints_trans_consistency(deskewed)


def test_the_range_of_a_variable_mentions_those_that_come_later():
    ranges = {X: tir.Range(-100, 100), Y: tir.Range(10)}
    problem = [tir.LE(X + Y, 20), tir.GE(X - Y, 10)]
    found = solve_linear_inequalities(problem, [X, Y], ranges)
    assert structural_equal(found.ranges[Y], tir.Range(0, 6))
    assert structural_equal(found.ranges[X].min, Y + 10)
    assert structural_equal(found.ranges[X].extent, 11)
    trans = solve_linear_inequalities(problem, [X, Y], ranges, deskew_range=True)
    x, y = trans.dst.variables
    assert (x.name, y.name) == ("x.shifted", "y.shifted")
    assert structural_equal(trans.dst.ranges[x], tir.Range(0, 11))
    assert structural_equal(trans.src_to_dst[Y], y)
    assert Analyzer().can_prove_equal(trans.dst_to_src[x], X - Y - 10)


def test_a_variable_between_equal_bounds_goes():
    problem = [X + Y >= 10, X - Y >= 2, X <= 6]
    found = solve_linear_inequalities(problem, [X, Y], deskew_range=True)
    assert found.dst.variables == []
    assert found.dst.relations == []
    assert structural_equal(found.src_to_dst[X], 6)
    assert structural_equal(found.src_to_dst[Y], 4)


def test_a_variable_without_bounds_stays():
    found = solve_linear_inequalities([X >= Y], [X, Y], deskew_range=True)
    assert found.dst.variables == [X, Y]
    assert not solve_linear_inequalities([X >= Y], [X, Y]).ranges


def test_what_has_no_solution_is_false():
    ranges = {X: tir.Range(-20, 21)}
    problem = [-X - 4 <= -5 * X + 2, X * 4 + 5 <= X * 5]
    found = solve_linear_inequalities(problem, [X], ranges)
    assert (found.variables, found.ranges) == ([], {})
    assert structural_equal(found.relations, [tir.const(0, "bool")])
    trans = solve_linear_inequalities(problem, [X], ranges, deskew_range=True)
    assert trans.dst is found
    assert not trans.src_to_dst


def test_what_is_not_linear_stays_a_condition():
    found = solve_linear_inequalities([X * Y <= 6, tir.any(X < 1, X > 3)], [X, Y])
    assert len(found.relations) == 2
    with pytest.raises(ArgumentError, match="got 'x' twice"):
        solve_linear_inequalities(IntConstraints([X, X], {}, [X <= 6]))


def test_bounds_of_a_multiple_are_rounded_to_the_nearest_ints():
    bounds = IntGroupBounds(3, [1], [], [11, Y])
    assert structural_equal(bounds.find_best_range({}), tir.Range(1, 4))
    assert IntGroupBounds(1, [Y], [], []).find_best_range() is None
    found = IntGroupBounds.from_range(tir.Range(2, 7))
    assert structural_equal([*found.lower, *found.upper], [2, 6])
    assert structural_equal(found.find_best_range(), tir.Range(2, 7))
    assert structural_equal(IntGroupBounds.from_range(tir.Range(2, 3)).equal, [2])
