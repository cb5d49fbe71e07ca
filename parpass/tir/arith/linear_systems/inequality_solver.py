"""Linear inequalities over the ints, as ranges of variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from parpass.tir.arith.linear_systems.inequality_elimination import eliminate
from parpass.tir.arith.linear_systems.int_constraints import (
    NO_SOLUTION,
    IntConstraints,
    IntConstraintsTransform,
    Ranges,
    as_constraints,
    knowing,
    unsolvable,
)
from parpass.tir.expr import Var
from parpass.tir.iteration import Range
from parpass.tir.op import const
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt_functor import substitute


@overload
def solve_linear_inequalities(
    equations: Sequence[Any] | IntConstraints,
    variables: Sequence[Var] | None = None,
    ranges: Ranges | None = None,
    deskew_range: Literal[False] = False,
) -> IntConstraints: ...


@overload
def solve_linear_inequalities(
    equations: Sequence[Any] | IntConstraints,
    variables: Sequence[Var] | None = None,
    ranges: Ranges | None = None,
    *,
    deskew_range: Literal[True],
) -> IntConstraintsTransform: ...


def solve_linear_inequalities(
    equations: Sequence[Any] | IntConstraints,
    variables: Sequence[Var] | None = None,
    ranges: Ranges | None = None,
    deskew_range: bool = False,
) -> IntConstraints | IntConstraintsTransform:
    """Find within which ranges the solutions of inequalities are.

    Args:
        equations: Inequalities and equations, or a system. Other conditions hold of the
            solution, too.
        variables: The variables to solve for, in the order in which they are
            eliminated: the range of one may mention those that come later.
        ranges: What variables are within.
        deskew_range: Whether the solution is over new variables, which begin at 0.

    Returns:
        A system with these ranges, and with conditions that they do not tell. With
        `deskew_range` both systems, and what the variables of one are in those of the
        other. What is seen to have no solution has no variables, and a relation that is
        false.
    """
    system = as_constraints(equations, variables, ranges)
    return _deskewed(system) if deskew_range else _ranged(system)


def solve_inequalities_as_condition(
    variables: Sequence[Var], ranges: Ranges, inequalities: Sequence[Any]
) -> list[PrimExpr]:
    """Return inequalities as bounds of one variable each, by those that come later.

    Args:
        variables: The variables to solve for.
        ranges: What variables are within.
        inequalities: Inequalities and equations.
    """
    return eliminate(IntConstraints(variables, ranges, inequalities)).conditions()


def _ranged(system: IntConstraints) -> IntConstraints:
    eliminated = eliminate(system)
    known = dict(system.ranges)
    found: dict[Var, Range] = {}
    for var, bounds in reversed(eliminated.bounds.items()):
        value = bounds.value
        if value is None:
            within = known.get(var)
            bounded = bounds if within is None else bounds.with_range(within)
            best = bounded.find_best_range(known)
        else:
            best = Range.from_min_extent(value, const(1, value.dtype))
        if best is None:
            continue
        if _is_empty(best, known):
            return NO_SOLUTION
        found[var] = known[var] = best
    analyzer = knowing(known)
    conditions = eliminated.conditions()
    left = [one for one in conditions if not analyzer.can_prove(one)]
    return IntConstraints(system.variables, found, left)


def _deskewed(system: IntConstraints) -> IntConstraintsTransform:
    eliminated = eliminate(system)
    known, new_ranges = dict(system.ranges), dict[Var, Range]()
    src_to_dst, dst_to_src = dict[Var, PrimExpr](), dict[Var, PrimExpr]()
    variables: list[Var] = []
    for var, given in reversed(eliminated.bounds.items()):
        bounds = given.substituted(src_to_dst)
        value = bounds.value
        if value is not None:
            src_to_dst[var] = value
            continue
        within = known.get(var)
        bounded = bounds if within is None else bounds.with_range(within)
        best = bounded.find_best_range(known)
        if best is None:
            src_to_dst[var] = dst_to_src[var] = var
            variables.append(var)
        elif _is_empty(best, known):
            return unsolvable(system)
        elif isinstance(best.extent, IntImm) and best.extent.value == 1:
            src_to_dst[var] = best.min
        else:
            new = Var(f"{var.name}.shifted", var.dtype)
            src_to_dst[var] = new + best.min
            first = substitute(best.min, dst_to_src)
            dst_to_src[new] = knowing(known).simplify(var - first)
            new_ranges[new] = known[new] = Range.from_min_extent(
                const(0, var.dtype), best.extent
            )
            variables.append(new)
    analyzer = knowing(known)
    conditions = [
        analyzer.simplify(substitute(one, src_to_dst))
        for one in eliminated.conditions()
    ]
    left = [one for one in conditions if not (isinstance(one, IntImm) and one.value)]
    solution = IntConstraints(variables[::-1], new_ranges, left)
    return IntConstraintsTransform(system, solution, src_to_dst, dst_to_src)


def _is_empty(found: Range, known: Ranges) -> bool:
    return knowing(known).can_prove_less(found.extent, 1)
