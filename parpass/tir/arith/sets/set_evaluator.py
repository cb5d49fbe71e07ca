"""What an expression may be, where variables may be anything in sets."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from parpass.ir.node import Node
from parpass.tir.arith.sets.interval_set import (
    EVERYTHING,
    IntervalSet,
    single_point,
    union_of,
)
from parpass.tir.arith.sets.set_arithmetic import TRUTHS, Prover, combine
from parpass.tir.binary_op import Add, BinaryOpExpr, CmpExpr, LogicalExpr
from parpass.tir.data_type import data_type
from parpass.tir.expr import Broadcast, Cast, Not, Ramp, Select, Var
from parpass.tir.expr_functor import ExprFunctor
from parpass.tir.op import cast_to, const
from parpass.tir.prim_expr import IntImm, PrimExpr


class IntervalSetEvaluator(ExprFunctor[IntervalSet]):
    """Gives expressions the sets of their values; of vectors, those of their lanes.

    Variables that are not in the domain are what they are. What is not told by
    arithmetic, such as what memory has, may be anything.

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
        if isinstance(expr, BinaryOpExpr | CmpExpr | LogicalExpr):
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
        return combine(Add, self._prover, self.memo_map[op.base], steps)

    def visit_broadcast_(self, op: Broadcast) -> IntervalSet:
        """Give what the value may be."""
        return self.memo_map[op.value]


def _is_point(found: IntervalSet, expr: PrimExpr) -> bool:
    return found.min_value is expr and found.max_value is expr
