"""Sums of quotients and remainders, in a canonical form.

Sums of what divisions leave of indices: the canonical form of index arithmetic.

A sum is `base + scale * split + ...`; a split is `expr % upper // lower`, which is what
split loops leave. What fits together is put together: `x // 6 * 6 + x % 6` is `x`.

The expressions that canonical sums are, and the sums that such expressions are.

Division of canonical sums by positive ints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple

from parpass.tir.arith.const_int_bound import Bounds
from parpass.tir.arith.expr_table import ExprTable
from parpass.tir.binary_op import Add, Div, FloorDiv, FloorMod, Mod, Mul, Sub
from parpass.tir.const_fold import trunc_div, trunc_mod
from parpass.tir.data_type import wrapped
from parpass.tir.prim_expr import IntImm, PrimExpr


class Rounding(NamedTuple):
    """One of the two ways to divide."""

    quotient: type[PrimExpr]
    remainder: type[PrimExpr]
    divide: Callable[[int, int], int]
    modulo: Callable[[int, int], int]


def _floor_div(a: int, b: int) -> int:
    return a // b


def _floor_mod(a: int, b: int) -> int:
    return a % b


FLOOR = Rounding(FloorDiv, FloorMod, _floor_div, _floor_mod)
TRUNC = Rounding(Div, Mod, trunc_div, trunc_mod)


class Split(NamedTuple):
    """`expr % upper // lower`.

    Attributes:
        expr: An expression of the table.
        lower: A positive int; 1 if nothing is divided.
        upper: A positive int; 0 if no remainder is taken.
        rounding: How the two round; None if there are none.
    """

    expr: PrimExpr
    lower: int = 1
    upper: int = 0
    rounding: Rounding | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is the expression itself."""
        return self.lower == 1 and self.upper == 0

    def fits(self, rounding: Rounding) -> bool:
        """Return whether it may be divided again, by such a rounding."""
        return self.rounding in (None, rounding)


class Sum(NamedTuple):
    """`base + scale * split + ...`.

    Attributes:
        scales: The scale of each split; none is 0.
        base: The constant.
    """

    scales: dict[Split, int]
    base: int

    @property
    def single(self) -> tuple[Split, int] | None:
        """The only split and its scale; None if there are several."""
        if self.base == 0 and len(self.scales) == 1:
            return next(iter(self.scales.items()))
        return None

    def times(self, factor: int) -> Sum:
        """Return a multiple."""
        if factor == 0:
            return Sum({}, 0)
        scaled = {split: scale * factor for split, scale in self.scales.items()}
        return Sum(scaled, self.base * factor)


def total(parts: Iterable[tuple[Sum, int]]) -> Sum:
    """Return the sum of multiples of sums, with what fits together put together."""
    scales: dict[Split, int] = {}
    base = 0
    for part, factor in parts:
        base += part.base * factor
        for split, scale in part.scales.items():
            scales[split] = scales.get(split, 0) + scale * factor
    return Sum(_joined({one: scale for one, scale in scales.items() if scale}), base)


def _joined(scales: dict[Split, int]) -> dict[Split, int]:
    of_expr: dict[PrimExpr, list[Split]] = {}
    for split in scales:
        of_expr.setdefault(split.expr, []).append(split)
    for splits in of_expr.values():
        if len(splits) > 1:
            while _join_two(scales, splits):
                splits[:] = [one for one in scales if one.expr is splits[0].expr]
                if not splits:
                    break
    return scales


def _join_two(scales: dict[Split, int], splits: list[Split]) -> bool:
    """Put two splits of an expression together, if two fit; return whether two did."""
    of_upper: dict[int, list[Split]] = {}
    for split in splits:
        of_upper.setdefault(split.upper, []).append(split)
    for high in splits:
        fitting = () if high.rounding is None else (high.lower, high.upper)
        for low in chain.from_iterable(of_upper.get(upper, ()) for upper in fitting):
            joined = _fitting(high, scales[high], low, scales[low])
            if joined is not None:
                scale = scales[low]
                del scales[high], scales[low]
                now = scales.get(joined, 0) + scale
                scales.pop(joined, None)
                if now:
                    scales[joined] = now
                return True
    return False


def _fitting(high: Split, high_scale: int, low: Split, low_scale: int) -> Split | None:
    """Return what two splits are together, with the scale of the lower one.

    That is `e % u // h * (h // l) + e % h // l = e % u // l`, or, the other way round,
    `e % u // l - e % u // h * (h // l) = e % h // l`.
    """
    rounding = high.rounding
    if high is low or rounding is None or not low.fits(rounding):
        return None
    step, rest = divmod(high.lower, low.lower)
    if rest or high.upper % high.lower or step == 1:
        return None
    if low.upper == high.lower and high_scale == low_scale * step:
        plain = low.lower == 1 and high.upper == 0
        return Split(low.expr, low.lower, high.upper, None if plain else rounding)
    if low.upper == high.upper and high_scale == -low_scale * step:
        return Split(low.expr, low.lower, high.lower, rounding)
    return None


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
