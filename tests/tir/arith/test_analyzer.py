"""What the analyzer finds holds for all values of the variables."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import structural_equal, te, tir
from parpass.errors import IRError
from parpass.tir.arith import Analyzer
from parpass.tir.arith.analyzer_state import AnalyzerState
from parpass.tir.arith.interval import Interval
from parpass.tir.op import comm_reducer
from tests.support.profiles import examples
from tests.tir.arith.prim_strategies import VARIABLES, conditions, indices
from tests.tir.arith.prim_values import Undefined, value_of

X, Y, Z = VARIABLES
RANGES = {X: (0, 4), Y: (-3, 3), Z: (-2, 5)}
ASSIGNMENTS = [
    dict(zip(RANGES, values, strict=True))
    for values in itertools.product(
        *(range(low, high + 1, 1) for low, high in RANGES.values())
    )
]
FEW = examples(1.25)


def told() -> Analyzer:
    analyzer = Analyzer()
    for var, (low, high) in RANGES.items():
        analyzer.bind(var, tir.Range(low, high + 1))
    return analyzer


def values_of(expr: Any) -> list[tuple[dict[Any, int], Any]]:
    found: list[tuple[dict[Any, int], Any]] = []
    for values in ASSIGNMENTS[::3]:
        try:
            found.append((values, value_of(expr, values)))
        except Undefined:
            continue
    return found


@pytest.mark.slow
@FEW
@given(st.one_of(indices(), conditions()))
def test_simplification_keeps_the_value(expr: Any):
    try:
        found = told().simplify(expr)
    except ZeroDivisionError:
        return
    for values, expected in values_of(expr):
        assert value_of(found, values) == expected, values


@pytest.mark.slow
@FEW
@given(indices())
def test_bounds_hold(expr: Any):
    known = AnalyzerState()
    for var, ends in RANGES.items():
        known.facts.variables[var] = Interval(*ends)
    low, high = known.bounds.of(known.table.first(expr))
    for _, value in values_of(expr):
        assert low <= value <= high


@pytest.mark.slow
@FEW
@given(conditions(), indices())
def test_what_holds_under_a_condition_holds_where_it_does(condition: Any, expr: Any):
    analyzer = told()
    try:
        with analyzer.constraint_scope(condition):
            found = analyzer.simplify(expr)
    except ZeroDivisionError:
        return
    for values, expected in values_of(expr):
        try:
            holds = value_of(condition, values)
        except Undefined:
            continue
        if holds:
            assert value_of(found, values) == expected
    for var, (low, high) in RANGES.items():
        assert holds_always(analyzer, tir.And(var >= low, var <= high))
        assert not holds_always(analyzer, var < high)


def test_what_is_simple_comes_back_as_the_same_object():
    analyzer = Analyzer()
    for expr in (X * 4 + Y, tir.Select(X < Y, X, Z), tir.min(X, Y), X // 3):
        assert analyzer.simplify(expr) is expr
    nested = tir.Add(X * 4 + Y, X * 4 + Y)
    assert analyzer.simplify(nested) is analyzer.simplify(nested)


def test_calls_that_may_do_anything_are_kept():
    call = tir.call_extern("int32", "f", X)
    analyzer = Analyzer()
    for expr in (tir.Sub(call, call), tir.Mul(call, tir.const(0)), tir.Min(call, call)):
        found = analyzer.simplify(expr)
        assert structural_equal(found, expr)
    pure = tir.call_pure_extern("int32", "f", X)
    assert structural_equal(analyzer.simplify(tir.Sub(pure, pure)), tir.const(0))


@pytest.mark.parametrize("kind", [tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod])
def test_division_by_zero_is_an_error(kind: Any):
    for expr in (kind(X, 0), kind(tir.Ramp(X, 1, 4), tir.Broadcast(0, 4))):
        with pytest.raises(IRError, match="Divide by zero"):
            Analyzer().simplify(expr)


def holds_always(analyzer: Analyzer, condition: Any) -> bool:
    """Return whether a condition is found to hold."""
    found = analyzer.simplify(condition)
    return isinstance(found, tir.IntImm) and found.value != 0


def test_a_variable_is_bound_once_unless_overridden():
    analyzer = Analyzer()
    analyzer.bind(X, tir.Range(0, 11))
    analyzer.bind(X, tir.Range(0, 11))
    with pytest.raises(IRError, match="to replace it, pass override"):
        analyzer.bind(X, tir.Range(0, 10))
    analyzer.bind(X, tir.Range(0, 10), allow_override=True)
    assert holds_always(analyzer, X < 10)


def test_a_variable_is_bound_to_a_range_or_to_an_expression():
    analyzer = Analyzer()
    analyzer.bind(X, tir.Range.from_min_extent(2, 8))
    analyzer.bind(Y, tir.Range.from_min_extent(Z, 1))
    assert structural_equal(analyzer.simplify(Y - Z), tir.const(0))
    assert holds_always(analyzer, X < 10)
    assert not holds_always(analyzer, X < 9)
    assert holds_always(analyzer, X - 2 >= 0)
    assert holds_always(analyzer, tir.EQ(Y, Z))


def test_indices_are_taken_not_to_overflow():
    assert holds_always(Analyzer(), X < X + 1)


def reduced(combine: Any, identity: Any, values: Any, axes: Any, **kwargs: Any) -> Any:
    def of_dtypes(*dtypes: str) -> Any:
        return identity

    return comm_reducer(combine, of_dtypes)(values, axes, **kwargs)


def test_reductions_are_simplified_where_their_axes_are():
    axis = te.reduce_axis((0, 10), "k")
    chosen = tir.Select(axis + 2 < 12, axis * 4 // 4, 0)
    found = Analyzer().simplify(te.sum(chosen, axis))
    assert structural_equal(found, te.sum(axis.var, axis))


def test_a_reduction_over_nothing_is_one_value():
    loaded = te.placeholder((10,), "int32", "A")[3]
    simplify = Analyzer().simplify
    assert structural_equal(simplify(te.sum(loaded, [])), loaded)
    assert structural_equal(simplify(te.sum(loaded, [], init=2)), loaded + 2)
    assert structural_equal(
        simplify(te.sum(loaded, [], where=X < X, init=2)), tir.const(2)
    )


def test_a_reduction_loses_the_values_that_its_result_is_not_made_of():
    def both(x: Any, y: Any) -> Any:
        return x[0] + y[0], x[1] * y[1]

    axis = te.reduce_axis((0, 10), "k")
    identity = tir.const(0), tir.Sub(tir.const(5), tir.const(4))
    pair = reduced(both, identity, (axis.var, axis + 1), axis)
    found = Analyzer().simplify(pair[0])
    assert structural_equal(found, te.sum(axis.var, axis))
    acts = tir.call_extern("int32", "act", axis.var)
    kept = reduced(both, identity, (axis.var, acts), axis)[0]
    assert len(Analyzer().simplify(kept).source) == 2


def chain(depth: int) -> Any:
    expr: Any = X
    for at in range(depth):
        expr = tir.Add(expr, tir.Var(f"v{at}", "int32"))
    return expr


def doubled(depth: int) -> Any:
    expr: Any = X + Y
    for _ in range(depth):
        expr = tir.Max(tir.Add(expr, expr), tir.Sub(expr, Z))
    return expr


def nested_choices(depth: int) -> Any:
    expr: Any = X
    for at in range(depth):
        expr = tir.Select(tir.Var(f"v{at}", "int32") < Y, expr, expr + at)
    return expr


@pytest.mark.slow
@pytest.mark.parametrize(
    "expr", [chain(3_000), doubled(100), nested_choices(100)], ids=["sum", "dag", "if"]
)
def test_deep_expressions_are_simplified_without_recursion(expr: Any):
    assert Analyzer().simplify(expr).dtype == "int32"


@pytest.mark.slow
@examples(0.75)
@given(indices(), conditions(), st.data())
def test_what_was_found_is_not_used_where_it_does_not_hold(
    expr: Any, condition: Any, data: st.DataObject
):
    analyzer, ranges = Analyzer(), dict.fromkeys(VARIABLES, range(-2, 3))

    def bind(var: tir.Var):
        low = data.draw(st.integers(-3, 1))
        ranges[var] = range(low, low + data.draw(st.integers(2, 4)))
        found = tir.Range(low, ranges[var].stop)
        analyzer.bind(var, found, allow_override=True)

    def check(given_condition: Any):
        simplified = analyzer.simplify(expr)
        for values in itertools.product(*ranges.values()):
            point = dict(zip(ranges, values, strict=True))
            try:
                if value_of(given_condition, point):
                    assert value_of(simplified, point) == value_of(expr, point)
            except Undefined:
                continue

    true = tir.const(1, "bool")
    for var in VARIABLES:
        bind(var)
    check(true)
    with analyzer.constraint_scope(condition):
        check(condition)
        bind(data.draw(st.sampled_from(VARIABLES)))
        check(condition)
    check(true)
    bind(VARIABLES[0])
    check(true)
