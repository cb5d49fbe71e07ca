"""What bounds a variable, or a multiple of it, and the best range that follows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.int_set import IntervalSet, IntSet
from parpass.tir.arith.linear_systems.int_constraints import Ranges, knowing
from parpass.tir.expr import Var
from parpass.tir.iteration import Range
from parpass.tir.op import const, equal, floordiv, greater_equal, less_equal
from parpass.tir.prim_expr import (
    IntImm,
    Operand,
    Operands,
    PrimExpr,
    as_prim_expr,
    as_prim_exprs,
)
from parpass.tir.stmt_functor import substitute

STEPS = 3  # of simplification: what canonical forms leave, rules may simplify again


@dataclass(frozen=True, eq=False)
class IntGroupBounds:
    """The bounds of `coef * v`, for a variable v.

    Attributes:
        coef: The factor, more than 0.
        lower: What it is at least.
        equal: What it is.
        upper: What it is at most.
    """

    coef: Operand
    lower: Operands
    equal: Operands
    upper: Operands

    def __post_init__(self) -> None:
        put = cast("Any", object.__setattr__)
        put(self, "coef", as_prim_expr(self.coef))
        for name in ("lower", "equal", "upper"):
            put(self, name, as_prim_exprs(getattr(self, name)))

    @staticmethod
    def from_range(rng: Range) -> IntGroupBounds:
        """Return the bounds of what is within a range."""
        unbounded = IntGroupBounds(const(1, rng.min.dtype), [], [], [])
        return unbounded.with_range(rng)

    def with_range(self, rng: Range) -> IntGroupBounds:
        """Return these bounds, and those of what is within a range."""
        simplify, low = Analyzer().simplify, rng.min
        if _is_one(simplify(rng.extent)):
            same = [simplify(low * self.coef), *self.equal]
            return IntGroupBounds(self.coef, self.lower, same, self.upper)
        lower = [simplify(low * self.coef), *self.lower]
        upper = [simplify((low + rng.extent - 1) * self.coef), *self.upper]
        return IntGroupBounds(self.coef, lower, self.equal, upper)

    def substituted(self, values: Mapping[Var, PrimExpr]) -> IntGroupBounds:
        """Return these bounds with expressions in the places of variables."""
        lower, same, upper = (
            [substitute(one, values) for one in group]
            for group in (self.lower, self.equal, self.upper)
        )
        return IntGroupBounds(self.coef, lower, same, upper)

    @property
    def value(self) -> PrimExpr | None:
        """What the variable is, if that is known; the least expression of several."""
        return self.equal[0] if self.equal and _is_one(self.coef) else None

    def conditions(self, var: Var) -> list[PrimExpr]:
        """Return the bounds as conditions of the variable."""
        multiple = self.coef * var
        return [
            compare(multiple, bound)
            for compare, bounds in (
                (equal, self.equal),
                (greater_equal, self.lower),
                (less_equal, self.upper),
            )
            for bound in bounds
        ]

    def find_best_range(self, ranges: Ranges | None = None) -> Range | None:
        """Return a range that has all values of the variable.

        Its extent mentions no variable whose range is known. None, if the variable has
        no lower or no upper bound, or if it is not known how far these are apart.

        Args:
            ranges: What variables of the bounds are within.
        """
        within = ranges or {}
        lowers, uppers = [*self.equal, *self.lower], [*self.equal, *self.upper]
        analyzer = knowing(within)
        if len(lowers) == 1 and len(uppers) == 1 and _is_one(self.coef):
            low, high = lowers[0], uppers[0]
            count = analyzer.simplify(high - low + 1)
            return Range.from_min_extent(analyzer.simplify(low), count)
        return self._narrowest(lowers, uppers, within, analyzer)

    def _narrowest(
        self,
        lowers: Sequence[PrimExpr],
        uppers: Sequence[PrimExpr],
        within: Ranges,
        analyzer: Analyzer,
    ) -> Range | None:
        """Return the range between the two bounds that are nearest to each other."""
        most = _most(analyzer, within)
        best: tuple[PrimExpr, PrimExpr] | None = None
        for low, high in itertools.product(lowers, uppers):
            first = analyzer.simplify(floordiv(low + self.coef - 1, self.coef), STEPS)
            for gap in (
                most(floordiv(high - low, self.coef)),
                most(floordiv(high, self.coef) - first),
            ):
                if gap is None:
                    continue
                if best is None or analyzer.can_prove(gap < best[1]):
                    best = first, gap
        if best is None:
            return None
        return Range.from_min_extent(best[0], analyzer.simplify(best[1] + 1))


def _most(analyzer: Analyzer, within: Ranges) -> Callable[[PrimExpr], PrimExpr | None]:
    """Return what gives the most that an expression may be, whatever variables are.

    It gives None where that is not known.
    """
    sets: dict[Var, IntervalSet] = {
        var: IntSet.from_range(one) for var, one in within.items()
    }

    def most(expr: PrimExpr) -> PrimExpr | None:
        values = analyzer.int_set(analyzer.simplify(expr, STEPS), sets)
        if not values.has_upper_bound():
            return None
        return analyzer.simplify(values.max_value, STEPS)

    return most


def _is_one(expr: PrimExpr) -> bool:
    return isinstance(expr, IntImm) and expr.value == 1
