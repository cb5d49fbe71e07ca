"""Division of canonical sums by positive ints."""

from __future__ import annotations

from typing import Any

from parpass.tir.arith.const_int_bound import Bounds
from parpass.tir.arith.sums.split_sum import FLOOR, Rounding, Split, Sum, total
from parpass.tir.arith.sums.sum_nodes import SumNodes


class SumDivision:
    """Divides sums, as far as they are whole, or as what is known of them tells."""

    def __init__(self, nodes: SumNodes, bounds: Bounds) -> None:
        self._nodes = nodes
        self._bounds = bounds

    def quotient(self, form: Sum, by: int, rounding: Rounding, dtype: str) -> Sum:
        """Return the quotient of a sum of expressions of a dtype."""
        single = form.single
        if single is not None and single[0].fits(rounding):
            found = self._single_quotient(*single, by, rounding)
            if found is not None:
                return found
        whole, rest = self._separated(form, by, rounding, dtype)
        if rest != form and rest.single is not None:
            return total([(whole, 1), (self.quotient(rest, by, rounding, dtype), 1)])
        left = self._nodes.node(rest, dtype)
        if not rest.scales or self._is_within(left, by):
            return total([(whole, 1), (Sum({}, rounding.divide(rest.base, by)), 1)])
        # A constant is not taken apart, if that does not help.
        if rest.base != form.base and form.base % by:
            whole, left = (
                Sum(whole.scales, 0),
                self._nodes.node(Sum(rest.scales, form.base), dtype),
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
            sums = (self._nodes.node(form, dtype), self._nodes.node(rest, dtype))
            is_right = all(self._bounds.of(one).low >= 0 for one in sums)
        return (Sum(whole, base), rest) if is_right else (Sum({}, 0), form)

    def remainder(self, form: Sum, by: int, rounding: Rounding, dtype: str) -> Sum:
        """Return what the quotient leaves."""
        _, rest = self._separated(form, by, rounding, dtype)
        if not rest.scales:
            return Sum({}, rounding.modulo(rest.base, by))
        single = rest.single
        if single is not None and single[0].fits(rounding):
            found = self._single_remainder(*single, by, rounding)
            if found is not None:
                return found
        index = self._nodes.node(rest, dtype)
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
        inner = self._nodes.made_of(split.expr) if split.lower == 1 else None
        if inner is not None:
            dtype = split.expr.dtype
            return self.remainder(inner, upper, rounding, dtype).times(scale)
        found = Split(split.expr, split.lower, upper, rounding)
        return self._without_upper(found).times(scale)

    def _is_within(self, node: Any, limit: int) -> bool:
        low, high = self._bounds.of(node)
        return low >= 0 and high < limit
