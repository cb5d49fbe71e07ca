"""Sets of ints: all values of an expression are in its set, and ends are as small."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import tir
from parpass.tir.arith import Analyzer, ConstIntBound, IntervalSet, IntSet
from parpass.tir.arith.int_set import (
    intersect,
    neg_inf,
    pos_inf,
)
from tests.support.prim_strategies import VARIABLES, indices
from tests.support.prim_values import Undefined, value_of
from tests.support.profiles import examples

X, Y, Z = VARIABLES
FEW = examples(1.25)


def ends(found: IntervalSet, values: dict[Any, int] | None = None) -> tuple[Any, Any]:
    """Return the ends of a set as numbers, None for infinities."""
    known = values or {}
    low = value_of(found.min_value, known) if found.has_lower_bound() else None
    return low, value_of(found.max_value, known) if found.has_upper_bound() else None


@pytest.mark.slow
@FEW
@given(indices(), st.integers(-3, 2), st.integers(0, 4), st.integers(-3, 3))
def test_all_values_of_an_expression_are_in_its_set(
    expr: Any, low: int, width: int, other: int
):
    """Two variables are in sets, one of which mentions the other; the third is free."""
    domain = {X: IntervalSet(low, low + width), Y: IntervalSet(X - 1, X + 2)}
    try:
        found = Analyzer().int_set(expr, domain)
    except ZeroDivisionError:
        return
    for x in range(low, low + width + 1):
        for y in range(x - 1, x + 3):
            try:
                value = value_of(expr, {X: x, Y: y, Z: other})
                least, greatest = ends(found, {Z: other})
            except Undefined:
                continue
            assert least is None or least <= value
            assert greatest is None or value <= greatest


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (X * 2 + Z, (Z - 4, Z + 6)),
        (5 - X, (2, 7)),
        (X * -3, (-9, 6)),
        (tir.floordiv(X, 2), (-1, 1)),
        (tir.floormod(X, 8), (0, 7)),
        (tir.truncmod(X, 8), (-7, 7)),
        (tir.truncmod(X + 2, 8), (0, 7)),
        (tir.max(X, Z), (tir.max(-2, Z), tir.max(3, Z))),
        (tir.Select(X < Z, X, X + 4), (-2, 7)),
        (X.astype("int64"), (tir.const(-2, "int64"), tir.const(3, "int64"))),
        (X < Z, (tir.const(0, "bool"), tir.const(1, "bool"))),
    ],
)
def test_ends_are_expressions(expr: Any, expected: tuple[Any, Any]):
    found = Analyzer().int_set(expr, {X: IntervalSet(-2, 3)})
    for got, wanted in zip((found.min_value, found.max_value), expected, strict=True):
        assert Analyzer().can_prove(tir.EQ(got, wanted)) or got.value == wanted.value


def test_remainders_of_one_step_are_tight():
    analyzer = Analyzer()
    analyzer.update(Z, ConstIntBound(0, 1))
    domain = {X: IntervalSet(Y * 8 + Z * 4, Y * 8 + Z * 4 + 3)}
    found = analyzer.int_set(tir.floormod(X, 8), domain)
    assert analyzer.can_prove_equal(found.min_value, Z * 4)
    assert analyzer.can_prove_equal(found.max_value, Z * 4 + 3)


@pytest.mark.parametrize(
    "expr",
    [
        tir.BufferLoad(tir.decl_buffer((4,), "int32"), [0]),
        tir.call_extern("int32", "f", X),
        X * Y,
        tir.Cast("uint8", X),
        tir.floordiv(Z, X),
    ],
)
def test_what_is_not_told_may_be_anything(expr: Any):
    domain = {X: IntervalSet(-1, 1), Y: IntervalSet(0, 4)}
    assert Analyzer().int_set(expr, domain).is_everything()


def test_what_does_not_depend_on_the_domain_is_itself():
    expr = tir.min(Y, Z + 1) * 2
    found = Analyzer().int_set(expr, {X: IntervalSet(0, 1)})
    assert found.min_value is found.max_value is expr


def test_a_domain_that_goes_round_in_circles_is_no_endless_loop():
    domain = {X: IntervalSet(Y, Y + 1), Y: IntervalSet(X, X + 1)}
    assert not Analyzer().int_set(X + Y, domain).is_nothing()


def test_the_lanes_of_a_vector_are_in_its_set():
    assert ends(IntSet.vector(tir.Ramp(10, 3, 2))) == (10, 15)
    assert ends(IntSet.vector(tir.Ramp(10, -3, 2))) == (5, 10)
    assert ends(IntSet.vector(tir.Ramp(1, 0, 4))) == (1, 1)
    assert ends(IntSet.vector(tir.Broadcast(7, 4))) == (7, 7)


def test_a_set_knows_whether_it_is_empty_or_a_point():
    assert IntSet.single_point(4).is_single_point()
    assert IntervalSet(4, 4).is_single_point()
    assert not IntervalSet(X, X + 0 * Y + 1).is_single_point()
    assert IntervalSet(pos_inf(), neg_inf()).is_nothing()
    assert IntervalSet(neg_inf(), pos_inf()).is_everything()
    assert isinstance(IntervalSet(0, 1), IntSet)
    assert ends(IntSet.from_range(tir.Range.from_min_extent(2, 4))) == (2, 5)


@pytest.mark.parametrize(
    "given_set",
    [
        IntervalSet(0, pos_inf()),
        IntervalSet(neg_inf(), 3),
        IntervalSet(pos_inf(), neg_inf()),
    ],
)
def test_infinities_are_themselves_after_pickling(given_set: IntervalSet):
    found = pickle.loads(pickle.dumps(given_set))
    assert found.is_nothing() == given_set.is_nothing()
    assert ends(found) == ends(given_set)


def test_intersections():
    low, high = IntervalSet(neg_inf(), 4), IntervalSet(2, pos_inf())
    assert ends(intersect([low, high])) == (2, 4)
    assert intersect([low, IntervalSet(5, 6)]).is_nothing()
    assert intersect([]).is_nothing()
