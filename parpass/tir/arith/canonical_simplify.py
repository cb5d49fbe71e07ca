"""Simplification by a canonical form of sums: see `split_sum`.

What is no sum, product by a constant, or division by a constant is simplified by rules.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

from parpass.ir.node import children
from parpass.tir.arith.interval import INF, Interval, of_dtype
from parpass.tir.arith.knowledge import Known
from parpass.tir.arith.rewrite_simplify import RewriteSimplifier
from parpass.tir.arith.split_sum import FLOOR, TRUNC, Rounding, Split, Sum, total
from parpass.tir.binary_op import Add, Div, FloorDiv, FloorMod, Mod, Mul, Sub
from parpass.tir.const_fold import INDEX
from parpass.tir.data_type import data_type, wrapped
from parpass.tir.expr import Cast
from parpass.tir.prim_expr import IntImm, PrimExpr


class CanonicalSimplifier(RewriteSimplifier):
    """Simplifies expressions of a table."""

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._forms: dict[Any, Sum] = {}  # of what was visited
        self._of_node: dict[Any, Sum] = {}  # of what was built

    # -- sums

    def visited_before(self, expr: Any) -> Any:
        """Return the children; of a sum, what is added in all of it."""
        if self._is_linear(expr):
            return [leaf for leaf, _ in self._added(expr)]
        return super().visited_before(expr)

    def _is_linear(self, expr: Any) -> bool:
        if not isinstance(expr, Add | Sub | Mul) or expr.dtype not in INDEX:
            return False
        if self._table.is_impure(expr):
            return False
        if isinstance(expr, Mul) and not isinstance(expr.b, IntImm):
            return isinstance(expr.a, IntImm)
        return True

    def _added(self, root: Any) -> list[tuple[Any, int]]:
        """Return what is added in a sum, with its factors, in order of appearance."""
        order = self._linear_order(root)
        factors = dict.fromkeys(order, 0)
        factors[root] = 1
        for node in reversed(order):
            factor = factors[node]
            if not self._is_linear(node):
                continue
            if isinstance(node, Mul):
                constant = node.b if isinstance(node.b, IntImm) else node.a
                other = node.a if constant is node.b else node.b
                factors[other] += factor * constant.value
            else:
                factors[node.a] += factor
                factors[node.b] += -factor if isinstance(node, Sub) else factor
        return [(one, factors[one]) for one in order if not self._is_linear(one)]

    def _linear_order(self, root: Any) -> list[Any]:
        """Return the nodes of a sum, down to what is added, children first."""
        order: dict[Any, None] = {}
        stack = [root]
        while stack:
            node = stack.pop()
            if node in order:
                continue
            below = (node.a, node.b) if self._is_linear(node) else ()
            waiting = [child for child in below if child not in order]
            if waiting:
                stack.append(node)
                stack += reversed(waiting)
            else:
                order[node] = None
        return [*order]

    def _sum_of(self, expr: Any) -> Sum:
        """Return what was visited as a sum."""
        return self._forms.get(expr) or self._as_sum(self.memo_map[expr])

    def _as_sum(self, node: Any) -> Sum:
        if isinstance(node, IntImm):
            return Sum({}, node.value)
        return self._of_node.get(node) or Sum({Split(node): 1}, 0)

    def _linear(self, expr: Any) -> Any:
        parts = [(self._sum_of(leaf), factor) for leaf, factor in self._added(expr)]
        return self._finished(expr, self._flat(total(parts)))

    def _flat(self, found: Sum) -> Sum:
        """Return a sum in which no plain split is a sum by itself."""
        while any(one.is_plain and one.expr in self._of_node for one in found.scales):
            parts = [(Sum({}, found.base), 1)]
            for split, scale in found.scales.items():
                inner = self._of_node.get(split.expr) if split.is_plain else None
                parts.append((inner or Sum({split: 1}, 0), scale))
            found = total(parts)
        return found

    def _finished(self, expr: Any, form: Sum) -> Any:
        """Return the expression that a sum is, and remember that it is one."""
        self._forms[expr] = form
        return self._node(form, expr.dtype)

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
        return self._finished(op, self._flat(self._sum_of(other).times(constant.value)))

    # -- from sums to expressions

    def _node(self, form: Sum, dtype: str) -> Any:
        """Return a sum as an expression: what is added first, the greatest first."""
        ordered = sorted(form.scales.items(), key=_place)
        result: Any = None
        for split, scale in ordered:
            if scale > 0:
                result = self._plus(Add, result, self._scaled(split, scale))
        if form.base > 0 or (result is None and not ordered):
            result = self._plus(Add, result, self._int(form.base, dtype))
        for split, scale in ordered:
            if scale < 0:
                result = self._int(0, dtype) if result is None else result
                result = self._plus(Sub, result, self._scaled(split, -scale))
        if form.base < 0 and ordered:
            result = self._plus(Sub, result, self._int(-form.base, dtype))
        single = form.single
        if single is None or single[1] != 1:
            self._of_node.setdefault(result, form)
        return result

    def _int(self, value: int, dtype: str) -> IntImm:
        return self._table.imm(dtype, wrapped(value, dtype))

    def _plus(self, kind: type[PrimExpr], result: Any, term: Any) -> Any:
        return term if result is None else self._table.node(kind, result, term)

    def _scaled(self, split: Split, scale: int) -> Any:
        node = self._split_node(split)
        if scale == 1:
            return node
        return self._table.node(Mul, node, self._int(scale, node.dtype))

    def _split_node(self, split: Split) -> Any:
        node, rounding = split.expr, split.rounding
        if rounding is None:
            return node
        if split.upper:
            upper = self._int(split.upper, node.dtype)
            node = self._table.node(rounding.remainder, node, upper)
        if split.lower != 1:
            lower = self._int(split.lower, node.dtype)
            node = self._table.node(rounding.quotient, node, lower)
        return node

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
        divide = self._quotient if type(op) is rounding.quotient else self._remainder
        found = divide(self._sum_of(op.a), divisor.value, rounding, op.dtype)
        return self._finished(op, found)

    def _quotient(self, form: Sum, by: int, rounding: Rounding, dtype: str) -> Sum:
        single = form.single
        if single is not None and single[0].fits(rounding):
            found = self._single_quotient(*single, by, rounding)
            if found is not None:
                return found
        whole, rest = self._separated(form, by, rounding, dtype)
        if rest != form and rest.single is not None:
            return total([(whole, 1), (self._quotient(rest, by, rounding, dtype), 1)])
        left = self._node(rest, dtype)
        if not rest.scales or self._is_within(left, by):
            return total([(whole, 1), (Sum({}, rounding.divide(rest.base, by)), 1)])
        # A constant is not taken apart, if that does not help.
        if rest.base != form.base and form.base % by:
            whole, left = (
                Sum(whole.scales, 0),
                self._node(Sum(rest.scales, form.base), dtype),
            )
        last = Sum({Split(left, by, 0, rounding): 1}, 0)
        return total([(whole, 1), (last, 1)])

    def _single_quotient(
        self, split: Split, scale: int, by: int, rounding: Rounding
    ) -> Sum | None:
        if scale % by == 0:
            return Sum({split: scale // by}, 0)
        if scale <= 0 or by % scale:
            return None
        lower = split.lower * (by // scale)
        if split.upper and split.upper <= lower:
            return Sum({}, 0)
        found = Split(split.expr, lower, split.upper, rounding)
        return self._without_upper(found)

    def _without_upper(self, split: Split) -> Sum:
        """Return a split without the remainder, if that is known to leave all."""
        if split.upper and self._is_within(split.expr, split.upper):
            rounding = split.rounding if split.lower != 1 else None
            split = Split(split.expr, split.lower, 0, rounding)
        if split.rounding and self._is_within(split.expr, split.lower):
            return Sum({}, 0)
        return Sum({split: 1}, 0)

    def _separated(
        self, form: Sum, by: int, rounding: Rounding, dtype: str
    ) -> tuple[Sum, Sum]:
        """Return a sum's quotient as far as it is whole, and the rest to be divided.

        Rounding towards zero, that is right where neither sum nor rest is negative, or
        where nothing is left.
        """
        scales = form.scales.items()
        whole = {split: scale // by for split, scale in scales if scale % by == 0}
        left = {split: scale for split, scale in scales if scale % by}
        base = rounding.divide(form.base, by)
        rest = Sum(left, form.base - base * by)
        is_right = rounding is FLOOR or rest == Sum({}, 0)
        if not is_right:
            sums = (self._node(form, dtype), self._node(rest, dtype))
            is_right = all(map(self.nonneg, sums))
        return (Sum(whole, base), rest) if is_right else (Sum({}, 0), form)

    def _remainder(self, form: Sum, by: int, rounding: Rounding, dtype: str) -> Sum:
        _, rest = self._separated(form, by, rounding, dtype)
        if not rest.scales:
            return Sum({}, rounding.modulo(rest.base, by))
        single = rest.single
        if single is not None and single[0].fits(rounding):
            found = self._single_remainder(*single, by, rounding)
            if found is not None:
                return found
        index = self._node(rest, dtype)
        return self._without_upper(Split(index, 1, by, rounding))

    def _single_remainder(
        self, split: Split, scale: int, by: int, rounding: Rounding
    ) -> Sum | None:
        """Return `scale * split % by`, if that is a multiple of a split, too."""
        if scale <= 0 or by % scale:
            return None
        upper = split.lower * (by // scale)
        if split.upper and split.upper <= upper:
            return Sum({split: scale}, 0)
        if split.upper % upper:
            return None
        if split.lower == 1 and split.expr in self._of_node:
            inner, dtype = self._of_node[split.expr], split.expr.dtype
            return self._remainder(inner, upper, rounding, dtype).times(scale)
        found = Split(split.expr, split.lower, upper, rounding)
        return self._without_upper(found).times(scale)

    def _is_within(self, node: Any, limit: int) -> bool:
        low, high = self._known.bounds.of(node)
        return low >= 0 and high < limit

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
        return self._table.first(Cast(dtype, self._split_node(split)))

    def _has_room(self, form: Sum, dtype: str) -> bool:
        """Return whether a dtype has all sums of parts of what is added."""
        low: float = min(form.base, 0)
        high: float = max(form.base, 0)
        for split, scale in form.scales.items():
            ends = self._known.bounds.of(self._split_node(split))
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
            negative = self._int(-operand.b.value, operand.dtype)
            return self._table.node(Add, operand.a, negative)
        return operand

    def _under(self, condition: Any, expr: Any) -> Generator[Any, Any, Any]:
        outside, self._forms = self._forms, {}
        try:
            return (yield from super()._under(condition, expr))
        finally:
            self._forms = outside


def _place(item: tuple[Split, int]) -> tuple[int, int, int]:
    split, scale = item
    return -scale, -split.lower, -split.upper
