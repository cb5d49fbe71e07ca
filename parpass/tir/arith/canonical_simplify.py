"""Simplification by a canonical form of sums: see `split_sum`.

What is no sum, product by a constant, or division by a constant is simplified by rules.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

from parpass.ir.node import children
from parpass.tir.arith.analyzer_state import AnalyzerState
from parpass.tir.arith.canonical_sum import (
    FLOOR,
    MAX_TERMS,
    TRUNC,
    Rounding,
    Split,
    Sum,
    SumDivision,
    SumNodes,
    total,
)
from parpass.tir.arith.interval import INF, Interval, of_dtype
from parpass.tir.arith.rewrite_simplify import RewriteSimplifier
from parpass.tir.binary_op import Add, Div, FloorDiv, FloorMod, Mod, Mul, Sub
from parpass.tir.const_fold import INDEX
from parpass.tir.data_type import data_type
from parpass.tir.expr import Cast
from parpass.tir.prim_expr import IntImm, PrimExpr

_LINEAR = {Add, Sub, Mul}
MAX_NODES = 2 * MAX_TERMS  # of a sum that is looked at as a whole


class CanonicalSimplifier(RewriteSimplifier):
    """Simplifies expressions of a table."""

    def __init__(self, known: AnalyzerState) -> None:
        super().__init__(known)
        self._forms: dict[Any, Sum] = {}  # of what was visited
        self._nodes = SumNodes(known.table)
        self._dividing = SumDivision(self._nodes, known.bounds)

    # -- sums

    def visited_before(self, expr: Any) -> Any:
        """Return the children; of a sum that is not long, all that is added in it."""
        order = self._linear_order(expr) if self._is_linear(expr) else None
        if order is None:
            return super().visited_before(expr)
        return [one for one in order if not self._is_open(one)]

    def _is_linear(self, expr: Any) -> bool:
        kind = cast("type[PrimExpr]", type(expr))
        if kind not in _LINEAR or expr.dtype not in INDEX:
            return False
        if self._table.is_impure(expr):
            return False
        return kind is not Mul or type(expr.b) is IntImm or type(expr.a) is IntImm

    def _is_open(self, expr: Any) -> bool:
        """Return whether an expression is seen as what is added in it."""
        return expr not in self._forms and self._is_linear(expr)

    def _added(self, root: Any) -> list[tuple[Any, int]]:
        """Return what is added in a sum, with its factors, in order of appearance."""
        order = self._linear_order(root) or [root.a, root.b, root]
        factors = dict.fromkeys(order, 0)
        factors[root] = 1
        for node in reversed(order):
            factor = factors[node]
            if not self._is_open(node):
                continue
            if isinstance(node, Mul):
                constant = node.b if isinstance(node.b, IntImm) else node.a
                other = node.a if constant is node.b else node.b
                factors[other] += factor * constant.value
            else:
                factors[node.a] += factor
                factors[node.b] += -factor if isinstance(node, Sub) else factor
        return [(one, factors[one]) for one in order if not self._is_open(one)]

    def _linear_order(self, root: Any) -> list[Any] | None:
        """Return the nodes of a sum, down to what is added, children first.

        None if there are so many that its parts are better looked at one by one.
        """
        order: dict[Any, None] = {}
        stack = [root]
        for _ in range(MAX_NODES):
            if not stack:
                return [*order]
            node = stack.pop()
            if node in order:
                continue
            below = (node.a, node.b) if self._is_open(node) else ()
            waiting = [child for child in below if child not in order]
            if waiting:
                stack.append(node)
                stack += reversed(waiting)
            else:
                order[node] = None
        return None

    def _sum_of(self, expr: Any) -> Sum:
        """Return what was visited as a sum."""
        return self._forms.get(expr) or self._nodes.sum_of(self.memo_map[expr])

    def _linear(self, expr: Any) -> Any:
        parts = [(self._sum_of(leaf), factor) for leaf, factor in self._added(expr)]
        return self._finished(expr, self._nodes.flat(total(parts)))

    def _finished(self, expr: Any, form: Sum) -> Any:
        """Return the expression that a sum is, and remember that it is one."""
        node = self._nodes.node(form, expr.dtype)
        is_long = len(form.scales) > MAX_TERMS
        self._forms[expr] = self._nodes.sum_of(node) if is_long else form
        return node

    def visit_add_(self, op: Add) -> Any:
        """Simplify a sum."""
        return self._linear(op) if self._is_linear(op) else self.visit_default(op)

    def visit_sub_(self, op: Sub) -> Any:
        """Simplify a difference."""
        return self._linear(op) if self._is_linear(op) else self.visit_default(op)

    def visit_mul_(self, op: Mul) -> Any:
        """Simplify a product; by a constant, as a sum."""
        if self._is_linear(op):
            return self._linear(op)
        a, b = (self.memo_map[one] for one in children(op))
        constant = b if isinstance(b, IntImm) else a
        is_kept = op.dtype not in INDEX or self._table.is_impure(op)
        if is_kept or not isinstance(constant, IntImm):
            return self.visit_default(op)
        other = op.a if constant is b else op.b
        return self._finished(
            op, self._nodes.flat(self._sum_of(other).times(constant.value))
        )

    # -- divisions

    def visit_floor_div_(self, op: FloorDiv) -> Any:
        """Simplify a division."""
        return self._division(op, FLOOR)

    def visit_floor_mod_(self, op: FloorMod) -> Any:
        """Simplify a remainder."""
        return self._division(op, FLOOR)

    def visit_div_(self, op: Div) -> Any:
        """Simplify a division that rounds towards zero."""
        return self._division(op, TRUNC)

    def visit_mod_(self, op: Mod) -> Any:
        """Simplify a remainder of such a division."""
        return self._division(op, TRUNC)

    def _division(self, op: Any, rounding: Rounding) -> Any:
        divisor = self.memo_map[op.b]
        is_plain = op.dtype in INDEX and isinstance(divisor, IntImm)
        if not is_plain or divisor.value <= 0 or self._table.is_impure(op):
            return self.visit_default(op)
        divide = (
            self._dividing.quotient
            if type(op) is rounding.quotient
            else self._dividing.remainder
        )
        found = divide(self._sum_of(op.a), divisor.value, rounding, op.dtype)
        return self._finished(op, found)

    # -- casts, comparisons, conditions

    def visit_cast_(self, op: Cast) -> Any:
        """Cast what is added, if the sum of that does not overflow."""
        form, to = self._sum_of(op.value), data_type(op.dtype)
        given = op.value.dtype
        is_one = form.single is not None and form.single[1] == 1
        if given not in INDEX or op.dtype not in INDEX or is_one:
            return self.visit_default(op)
        widens = to.bits >= data_type(given).bits
        if not form.scales or not (widens or self._has_room(form, op.dtype)):
            return self.visit_default(op)
        scales = {
            Split(self._cast(op.dtype, split)): scale
            for split, scale in form.scales.items()
        }
        return self._finished(op, Sum(scales, form.base))

    def _cast(self, dtype: str, split: Split) -> Any:
        return self._table.first(Cast(dtype, self._nodes.split_node(split)))

    def _has_room(self, form: Sum, dtype: str) -> bool:
        """Return whether a dtype has all sums of parts of what is added."""
        low: float = min(form.base, 0)
        high: float = max(form.base, 0)
        for split, scale in form.scales.items():
            ends = self._known.bounds.of(self._nodes.split_node(split))
            if INF in ends or -INF in ends:
                return False
            scaled = [end * scale for end in ends]
            low, high = low + min(*scaled, 0), high + max(*scaled, 0)
        room: Interval = of_dtype(dtype)
        return room.low <= low and high <= room.high

    def _comparison(self, node: Any) -> Any:
        # The rules know `x - c` as `x + (-c)`.
        a, b = map(self._with_sum, (node.a, node.b))
        kind = cast("type[Any]", type(node))
        if a is node.a and b is node.b:
            return super()._comparison(node)
        return super()._comparison(self._table.node(kind, a, b))

    def _with_sum(self, operand: Any) -> Any:
        if isinstance(operand, Sub) and isinstance(operand.b, IntImm):
            negative = self._nodes.int_imm(-operand.b.value, operand.dtype)
            return self._table.node(Add, operand.a, negative)
        return operand

    def _under(self, condition: Any, expr: Any) -> Generator[Any, Any, Any]:
        outside, self._forms = self._forms, {}
        try:
            return (yield from super()._under(condition, expr))
        finally:
            self._forms = outside
