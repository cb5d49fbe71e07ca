"""Sums of what divisions leave of indices: the canonical form of index arithmetic.

A sum is `base + scale * split + ...`; a split is `expr % upper // lower`, which is what
split loops leave. What fits together is put together: `x // 6 * 6 + x % 6` is `x`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

from parpass.tir.binary_op import Div, FloorDiv, FloorMod, Mod
from parpass.tir.const_fold import trunc_div, trunc_mod
from parpass.tir.prim_expr import PrimExpr


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
        """The only split and its scale, if there is no more."""
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
