"""The expressions that canonical sums are, and the sums that such expressions are."""

from __future__ import annotations

from typing import Any

from parpass.tir.arith.expr_table import ExprTable
from parpass.tir.arith.sums.split_sum import Split, Sum, total
from parpass.tir.binary_op import Add, Mul, Sub
from parpass.tir.data_type import wrapped
from parpass.tir.prim_expr import IntImm, PrimExpr

# A longer sum is a term by itself where more is added to it, so that sums that grow
# step by step, as the bounds of loops do, cost no more the longer they are.
MAX_TERMS = 64


class SumNodes:
    """Makes expressions of a table of sums, and remembers of which."""

    def __init__(self, table: ExprTable) -> None:
        self._table = table
        self._sums: dict[Any, Sum] = {}  # of what was made

    def sum_of(self, node: Any) -> Sum:
        """Return an expression as a sum: the one that it was made of, if it was."""
        if isinstance(node, IntImm):
            return Sum({}, node.value)
        return self._sums.get(node) or Sum({Split(node): 1}, 0)

    def made_of(self, node: Any) -> Sum | None:
        """Return the sum that an expression was made of, if it was."""
        return self._sums.get(node)

    def flat(self, found: Sum) -> Sum:
        """Return a sum in which no plain split is a sum by itself."""
        while any(one.is_plain and one.expr in self._sums for one in found.scales):
            parts = [(Sum({}, found.base), 1)]
            for split, scale in found.scales.items():
                inner = self._sums.get(split.expr) if split.is_plain else None
                parts.append((inner or Sum({split: 1}, 0), scale))
            found = total(parts)
        return found

    def node(self, form: Sum, dtype: str) -> Any:
        """Return a sum as an expression: what is added first, the greatest first."""
        single = form.single
        if single is not None:
            result: Any = self._scaled(*single)
            if single[1] != 1:
                self._sums.setdefault(result, form)
            return result
        ordered = sorted(form.scales.items(), key=_place)
        result = None
        for split, scale in ordered:
            if scale > 0:
                result = self._plus(Add, result, self._scaled(split, scale))
        if form.base > 0 or (result is None and not ordered):
            result = self._plus(Add, result, self.int_imm(form.base, dtype))
        for split, scale in ordered:
            if scale < 0:
                result = self.int_imm(0, dtype) if result is None else result
                result = self._plus(Sub, result, self._scaled(split, -scale))
        if form.base < 0 and ordered:
            result = self._plus(Sub, result, self.int_imm(-form.base, dtype))
        if len(ordered) <= MAX_TERMS:
            self._sums.setdefault(result, form)
        return result

    def int_imm(self, value: int, dtype: str) -> IntImm:
        """Return an int as what is left of it in a dtype."""
        return self._table.imm(dtype, wrapped(value, dtype))

    def _plus(self, kind: type[PrimExpr], result: Any, term: Any) -> Any:
        return term if result is None else self._table.node(kind, result, term)

    def _scaled(self, split: Split, scale: int) -> Any:
        node = self.split_node(split)
        if scale == 1:
            return node
        return self._table.node(Mul, node, self.int_imm(scale, node.dtype))

    def split_node(self, split: Split) -> Any:
        """Return a split as an expression."""
        node, rounding = split.expr, split.rounding
        if rounding is None:
            return node
        if split.upper:
            upper = self.int_imm(split.upper, node.dtype)
            node = self._table.node(rounding.remainder, node, upper)
        if split.lower != 1:
            lower = self.int_imm(split.lower, node.dtype)
            node = self._table.node(rounding.quotient, node, lower)
        return node


def _place(item: tuple[Split, int]) -> tuple[int, int, int]:
    split, scale = item
    return -scale, -split.lower, -split.upper
