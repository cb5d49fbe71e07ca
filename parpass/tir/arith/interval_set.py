"""Sets of ints whose ends are expressions, and what arithmetic makes of them.

Sets of ints between two expressions: what an expression may be, as an expression.

An end that is missing is an infinity: `NEG_INF` or `POS_INF`, variables that stand for
no value, as in TVM.

Arithmetic on interval sets: of all values that operands may have, all results.

What an expression may be, where variables may be anything in sets.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Protocol

import msgspec
from msgspec.structs import force_setattr

from parpass.ir.node import Node
from parpass.tir import binary_op
from parpass.tir.data_type import data_type
from parpass.tir.expr import Broadcast, Cast, Not, Ramp, Select, Var
from parpass.tir.expr_functor import ExprFunctor
from parpass.tir.op import (
    abs,  # noqa: A004 -- TVM's name
    add,
    cast_to,
    const,
    div,
    equal,
    floordiv,
    greater_equal,
    maximum,
    minimum,
    multiply,
    subtract,
)
from parpass.tir.op.builders import OF_CONDITIONS, OF_NUMBERS, Build
from parpass.tir.prim_expr import IntImm, PrimExpr, as_prim_expr

NEG_INF = Var("neg_inf", "handle")
POS_INF = Var("pos_inf", "handle")


class IntervalSet(msgspec.Struct, frozen=True, eq=False):
    """The ints between two expressions, both included.

    Attributes:
        min_value: The least; `NEG_INF` where there is none. A number makes an int32.
        max_value: The greatest; `POS_INF` where there is none.
    """

    min_value: Any
    max_value: Any

    def __post_init__(self) -> None:
        force_setattr(self, "min_value", as_prim_expr(self.min_value))
        force_setattr(self, "max_value", as_prim_expr(self.max_value))

    def __reduce__(self) -> tuple[Any, ...]:
        low = self.min_value if self.has_lower_bound() else None
        high = self.max_value if self.has_upper_bound() else None
        return _restored, (self.is_nothing(), low, high)

    def __repr__(self) -> str:
        return f"IntervalSet[{self.min_value!r}, {self.max_value!r}]"

    def is_nothing(self) -> bool:
        """Return whether there is no int in it, by its infinities."""
        return self.min_value is POS_INF or self.max_value is NEG_INF

    def is_everything(self) -> bool:
        """Return whether all ints are in it."""
        return self.min_value is NEG_INF and self.max_value is POS_INF

    def is_single_point(self) -> bool:
        """Return whether there is one int in it, by the look of its ends."""
        low, high = self.min_value, self.max_value
        if isinstance(low, IntImm) and isinstance(high, IntImm):
            return low.value == high.value
        return low is high

    def has_lower_bound(self) -> bool:
        """Return whether there is a least int in it."""
        return self.min_value is not NEG_INF and not self.is_nothing()

    def has_upper_bound(self) -> bool:
        """Return whether there is a greatest int in it."""
        return self.max_value is not POS_INF and not self.is_nothing()


def single_point(value: Any) -> IntervalSet:
    """Return the set of one value."""
    expr = as_prim_expr(value)
    return IntervalSet(expr, expr)


def from_min_extent(low: PrimExpr, count: PrimExpr) -> IntervalSet:
    """Return the set of so many ints, from one on."""
    if isinstance(count, IntImm) and count.value == 1:
        return single_point(low)
    return IntervalSet(low, subtract(add(count, low), const(1, low.dtype)))


EVERYTHING = IntervalSet(NEG_INF, POS_INF)
NOTHING = IntervalSet(POS_INF, NEG_INF)


def _restored(is_nothing: bool, low: Any, high: Any) -> IntervalSet:
    if is_nothing:
        return NOTHING
    return IntervalSet(
        NEG_INF if low is None else low, POS_INF if high is None else high
    )


def least(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return the lesser of two ends."""
    if a is NEG_INF or b is POS_INF:
        return a
    return b if b is NEG_INF or a is POS_INF else minimum(a, b)


def greatest(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return the greater of two ends."""
    if a is POS_INF or b is NEG_INF:
        return a
    return b if b is POS_INF or a is NEG_INF else maximum(a, b)


def union_of(a: IntervalSet, b: IntervalSet) -> IntervalSet:
    """Return the least interval that has both."""
    if a.is_nothing() or b.is_nothing():
        return b if a.is_nothing() else a
    return IntervalSet(
        least(a.min_value, b.min_value), greatest(a.max_value, b.max_value)
    )


class Prover(Protocol):
    """An object that proves the signs of expressions: an analyzer."""

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
    binary_op.Add: _add,
    binary_op.Sub: _subtract,
    binary_op.Mul: _multiply,
    binary_op.Div: _quotient(div),
    binary_op.Mod: _trunc_remainder,
    binary_op.FloorDiv: _quotient(floordiv),
    binary_op.FloorMod: _floor_remainder,
    binary_op.Min: _minimum,
    binary_op.Max: _maximum,
}


class IntervalSetEvaluator(ExprFunctor[IntervalSet]):
    """Gives expressions the sets of their values; of vectors, those of their lanes.

    Variables that are not in the domain are kept. Values that do not follow by
    arithmetic, such as those of memory, are unbounded.

    Args:
        prover: Tells signs.
        domain: The sets of variables. They may mention other ones of the domain, in
            whose place their ends are put then.
    """

    def __init__(self, prover: Prover, domain: Mapping[Var, IntervalSet]) -> None:
        super().__init__()
        self._prover = prover
        self._domain = domain
        self._depth = 0  # in sets of variables that are in sets of variables

    def visit_default(self, expr: Node) -> IntervalSet:
        """Combine the sets of two operands; all else may be anything."""
        if isinstance(
            expr, binary_op.BinaryOpExpr | binary_op.CmpExpr | binary_op.LogicalExpr
        ):
            a, b = self.memo_map[expr.a], self.memo_map[expr.b]
            if _is_point(a, expr.a) and _is_point(b, expr.b):
                return single_point(expr)
            return combine(type(expr), self._prover, a, b)
        return EVERYTHING

    def visit_int_imm_(self, op: IntImm) -> IntervalSet:
        """Give the constant."""
        return single_point(op)

    def visit_var_(self, op: Var) -> Any:
        """Give the set of a variable, without variables of the domain in its ends."""
        found = self._domain.get(op)
        if found is None:
            return single_point(op)
        if _is_point(found, op) or self._depth >= len(self._domain):
            return found
        return (yield from self._relaxed(found))

    def _relaxed(self, found: IntervalSet) -> Generator[Any, Any, IntervalSet]:
        self._depth += 1
        low, high = found.min_value, found.max_value
        if found.has_lower_bound():
            low = (yield low).min_value
        if found.has_upper_bound():
            high = (yield high).max_value
        self._depth -= 1
        return IntervalSet(low, high)

    def visit_cast_(self, op: Cast) -> IntervalSet:
        """Cast the ends, if the values are the same then."""
        found = self.memo_map[op.value]
        if _is_point(found, op.value):
            return single_point(op)
        to, of = data_type(op.dtype), data_type(op.value.dtype)
        if to.code == "bool":
            return TRUTHS
        if (to.code, of.code) != ("int", "int") or to.bits < of.bits:
            return EVERYTHING
        low, high = found.min_value, found.max_value
        return IntervalSet(
            cast_to(low, op.dtype) if found.has_lower_bound() else low,
            cast_to(high, op.dtype) if found.has_upper_bound() else high,
        )

    def visit_not_(self, op: Not) -> IntervalSet:
        """Give both truth values."""
        return single_point(op) if _is_point(self.memo_map[op.a], op.a) else TRUTHS

    def visit_select_(self, op: Select) -> IntervalSet:
        """Give what either value may be."""
        sides = (op.condition, op.true_value, op.false_value)
        if all(_is_point(self.memo_map[one], one) for one in sides):
            return single_point(op)
        return union_of(self.memo_map[op.true_value], self.memo_map[op.false_value])

    def visit_ramp_(self, op: Ramp) -> IntervalSet:
        """Give what lies between the first lane and where the next one would be."""
        if not isinstance(op.stride, IntImm):
            return EVERYTHING
        reach, dtype = op.stride.value * op.lanes, op.base.dtype
        ends = (0, reach - 1) if reach > 0 else (min(reach + 1, 0), 0)
        steps = IntervalSet(*[const(end, dtype) for end in ends])
        return combine(binary_op.Add, self._prover, self.memo_map[op.base], steps)

    def visit_broadcast_(self, op: Broadcast) -> IntervalSet:
        """Give what the value may be."""
        return self.memo_map[op.value]


def _is_point(found: IntervalSet, expr: PrimExpr) -> bool:
    return found.min_value is expr and found.max_value is expr
