"""Arithmetic on interval sets: of all values that operands may have, all results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from parpass.tir.arith.sets.interval_set import (
    EVERYTHING,
    NEG_INF,
    NOTHING,
    POS_INF,
    IntervalSet,
    greatest,
    least,
    single_point,
)
from parpass.tir.binary_op import (
    Add,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Sub,
)
from parpass.tir.expr import Select
from parpass.tir.op import (
    abs,  # noqa: A004 -- TVM's name
    add,
    const,
    div,
    equal,
    floordiv,
    greater_equal,
    multiply,
    subtract,
)
from parpass.tir.op.builders import OF_CONDITIONS, OF_NUMBERS, Build
from parpass.tir.prim_expr import IntImm, PrimExpr


class Prover(Protocol):
    """What knows which signs expressions have: an analyzer."""

    def can_prove(self, condition: Any) -> bool:
        """Return whether a condition is found to hold always."""
        ...

    def can_prove_greater_equal(self, expr: Any, lower_bound: int) -> bool:
        """Return whether an expression is found to be a constant, or more."""
        ...


Rule = Callable[[Prover, IntervalSet, IntervalSet], IntervalSet]

TRUTHS = IntervalSet(IntImm("bool", 0), IntImm("bool", 1))


def combine(
    kind: type[PrimExpr], prover: Prover, a: IntervalSet, b: IntervalSet
) -> IntervalSet:
    """Return what a binary operator gives on two sets, or more than that.

    Args:
        kind: The operator's node, such as `Add`.
        prover: Tells the signs of factors and divisors.
        a: The set of the first operand.
        b: The set of the second one.
    """
    if a.is_nothing() or b.is_nothing():
        return NOTHING
    if a.is_single_point() and b.is_single_point():
        return single_point(_BUILD[kind](a.min_value, b.min_value))
    return _RULES[kind](prover, a, b)


def intersection(prover: Prover, a: IntervalSet, b: IntervalSet) -> IntervalSet:
    """Return what is in both sets."""
    if a.is_nothing() or b.is_nothing():
        return NOTHING
    low, high = greatest(a.min_value, b.min_value), least(a.max_value, b.max_value)
    has_ends = low is not NEG_INF and high is not POS_INF
    if has_ends and prover.can_prove_greater_equal(subtract(low, high), 1):
        return NOTHING
    return IntervalSet(low, high)


def _rising(a: IntervalSet, build: Callable[[PrimExpr], PrimExpr]) -> IntervalSet:
    """Return what a function that never falls gives."""
    low = build(a.min_value) if a.has_lower_bound() else NEG_INF
    return IntervalSet(low, build(a.max_value) if a.has_upper_bound() else POS_INF)


def _falling(a: IntervalSet, build: Callable[[PrimExpr], PrimExpr]) -> IntervalSet:
    """Return what a function that never rises gives."""
    low = build(a.max_value) if a.has_upper_bound() else NEG_INF
    return IntervalSet(low, build(a.min_value) if a.has_lower_bound() else POS_INF)


def _add(_: Prover, a: IntervalSet, b: IntervalSet) -> IntervalSet:
    has_low = a.has_lower_bound() and b.has_lower_bound()
    has_high = a.has_upper_bound() and b.has_upper_bound()
    return IntervalSet(
        add(a.min_value, b.min_value) if has_low else NEG_INF,
        add(a.max_value, b.max_value) if has_high else POS_INF,
    )


def _subtract(_: Prover, a: IntervalSet, b: IntervalSet) -> IntervalSet:
    has_low = a.has_lower_bound() and b.has_upper_bound()
    has_high = a.has_upper_bound() and b.has_lower_bound()
    return IntervalSet(
        subtract(a.min_value, b.max_value) if has_low else NEG_INF,
        subtract(a.max_value, b.min_value) if has_high else POS_INF,
    )


def _multiply(prover: Prover, a: IntervalSet, b: IntervalSet) -> IntervalSet:
    return _by_sign(multiply, prover, *((b, a) if a.is_single_point() else (a, b)))


def _quotient(build: Build) -> Rule:
    def rule(prover: Prover, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        return _by_sign(build, prover, a, b)

    return rule


def _by_sign(
    build: Build, prover: Prover, a: IntervalSet, b: IntervalSet
) -> IntervalSet:
    """Return products by one factor, or quotients by one divisor.

    They rise with the other operand where that one is positive, and fall where it is
    negative.
    """
    if not b.is_single_point():
        return EVERYTHING
    by = b.min_value
    if isinstance(by, IntImm) and by.value == 0:
        return b if build is multiply else EVERYTHING
    if prover.can_prove_greater_equal(by, 0):
        return _rising(a, lambda end: build(end, by))
    if prover.can_prove_greater_equal(subtract(const(0, by.dtype), by), 1):
        return _falling(a, lambda end: build(end, by))
    if not (a.has_lower_bound() and a.has_upper_bound()):
        return EVERYTHING
    first, last = build(a.min_value, by), build(a.max_value, by)
    rises = greater_equal(by, const(0, by.dtype))
    return IntervalSet(Select(rises, first, last), Select(rises, last, first))


def _trunc_remainder(prover: Prover, a: IntervalSet, b: IntervalSet) -> IntervalSet:
    if not b.is_single_point():
        return EVERYTHING
    most = _greatest_remainder(prover, b.min_value)
    zero = const(0, most.dtype)
    if a.has_lower_bound() and prover.can_prove_greater_equal(a.min_value, 0):
        return IntervalSet(zero, most)
    return IntervalSet(subtract(zero, most), most)


def _floor_remainder(prover: Prover, a: IntervalSet, b: IntervalSet) -> IntervalSet:
    if not b.is_single_point():
        return EVERYTHING
    divisor = b.min_value
    most = _greatest_remainder(prover, divisor)
    zero = const(0, most.dtype)
    if not prover.can_prove_greater_equal(divisor, 0):
        return IntervalSet(subtract(zero, most), most)
    if isinstance(divisor, IntImm) and a.has_lower_bound() and a.has_upper_bound():
        # What has one quotient is a step of the saw, in which remainders rise.
        low, high = (floordiv(end, divisor) for end in (a.min_value, a.max_value))
        if prover.can_prove(equal(low, high)):
            return _rising(a, lambda end: subtract(end, multiply(divisor, low)))
    return IntervalSet(zero, most)


def _greatest_remainder(prover: Prover, divisor: PrimExpr) -> PrimExpr:
    is_positive = prover.can_prove_greater_equal(divisor, 0)
    size = divisor if is_positive else abs(divisor)
    return subtract(size, const(1, divisor.dtype))


def _minimum(_: Prover, a: IntervalSet, b: IntervalSet) -> IntervalSet:
    return IntervalSet(least(a.min_value, b.min_value), least(a.max_value, b.max_value))


def _maximum(_: Prover, a: IntervalSet, b: IntervalSet) -> IntervalSet:
    low = greatest(a.min_value, b.min_value)
    return IntervalSet(low, greatest(a.max_value, b.max_value))


def _truths(_prover: Prover, _a: IntervalSet, _b: IntervalSet) -> IntervalSet:
    return TRUTHS


_BUILD = {**OF_NUMBERS, **OF_CONDITIONS}
_RULES: Mapping[type[PrimExpr], Rule] = {
    **dict.fromkeys(_BUILD, _truths),
    Add: _add,
    Sub: _subtract,
    Mul: _multiply,
    Div: _quotient(div),
    Mod: _trunc_remainder,
    FloorDiv: _quotient(floordiv),
    FloorMod: _floor_remainder,
    Min: _minimum,
    Max: _maximum,
}
