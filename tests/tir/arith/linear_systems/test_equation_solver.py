"""Equations are solved over the ints."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parpass import structural_equal, testing, tir
from parpass.errors import IRTypeError
from parpass.tir.arith import (
    IntConstraints,
    IntConstraintsTransform,
    solve_linear_equations,
)
from tests.support.linear_relations import RANGES, VARIABLES, relations

X, Y, Z = VARIABLES
P = tir.Var("p")


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(relations((tir.EQ, tir.EQ, tir.LE)), min_size=1, max_size=3))
def test_a_solution_has_the_same_points(given_relations: list[Any]):
    found = solve_linear_equations(given_relations, VARIABLES, RANGES)
    testing.check_int_constraints_trans_consistency(found)
    found = solve_linear_equations(given_relations, VARIABLES[:2], RANGES)
    testing.check_int_constraints_trans_consistency(found, {Z: RANGES[Z]})


def test_a_system_of_full_rank_has_no_variables_left():
    found = solve_linear_equations([tir.EQ(X + Y, 20), tir.EQ(X - Y, 10)], [X, Y])
    assert found.dst.variables == []
    assert found.dst.relations == []
    assert structural_equal(found.src_to_dst[X], 15)
    assert structural_equal(found.src_to_dst[Y], 5)


def test_what_is_free_is_a_new_variable_with_a_range():
    ranges = {X: tir.Range(-5, 5), Y: tir.Range(10)}
    found = solve_linear_equations([tir.EQ(X + Y, 0)], [X, Y], ranges)
    [free] = found.dst.variables
    assert structural_equal(found.src_to_dst[Y], -free)
    assert structural_equal(found.dst.ranges[free], tir.Range(-9, 1))
    [condition] = found.dst.relations
    assert structural_equal(condition, tir.LE(-5, free))


def test_a_parameter_must_be_divisible():
    found = solve_linear_equations([tir.EQ(X * 2, P)], [X])
    [condition] = found.dst.relations
    assert structural_equal(condition, tir.EQ(tir.floormod(P, 2), 0))
    assert structural_equal(found.src_to_dst[X], tir.floordiv(P, 2))


@pytest.mark.parametrize(
    "equations",
    [
        [tir.EQ(X + Y, 0), tir.EQ(X - Y, 0), tir.EQ(X, 5)],
        [tir.EQ(X * 2 + Y * 4, 5)],
    ],
)
def test_what_has_no_solution_is_false(equations: list[Any]):
    found = solve_linear_equations(equations, [X, Y])
    assert found.dst.variables == []
    assert structural_equal(found.dst.relations, [tir.const(0, "bool")])
    assert not found.src_to_dst
    assert not found.dst_to_src


def test_what_is_not_linear_holds_of_the_solution():
    equations = [tir.EQ(X, 3), tir.EQ(X * Y, 6), tir.LT(X, Y)]
    found = solve_linear_equations(equations, [X, Y])
    [y] = found.dst.variables
    expected = [tir.EQ(y * 3, 6), tir.LT(3, y)]
    simplify = tir.arith.Analyzer().simplify
    assert structural_equal(
        [simplify(one) for one in found.dst.relations], [*map(simplify, expected)]
    )


def test_a_system_is_given_whole_or_by_parts():
    system = IntConstraints([X], {X: tir.Range(8)}, [tir.EQ(X, Y)])
    found: IntConstraintsTransform = solve_linear_equations(system)
    assert found.src is system
    assert structural_equal(found.src_to_dst[X], Y)
    with pytest.raises(IRTypeError, match="expected IntConstraints alone"):
        solve_linear_equations(system, [X])
    nothing = solve_linear_equations([tir.EQ(X, 1)])
    assert nothing.src is nothing.dst
    with pytest.raises(IRTypeError, match="'f' of float32"):
        IntConstraints([tir.Var("f", "float32")])
