"""Linear equations over the ints, solved by the diagonal form of their matrix.

    x = V z, where S z = U y, for the equations A x = y and S = U A V diagonal

An element of z whose equation is `0 = 0` is free: it is a new variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.int_set import IntSet
from parpass.tir.arith.linear_equation import detect_linear_equation
from parpass.tir.arith.linear_systems.diagonal_form import DiagonalForm, diagonal_form
from parpass.tir.arith.linear_systems.int_constraints import (
    IntConstraints,
    IntConstraintsTransform,
    Ranges,
    as_constraints,
    knowing,
    unsolvable,
)
from parpass.tir.binary_op import EQ
from parpass.tir.expr import Var
from parpass.tir.iteration import Range
from parpass.tir.op import const, equal, floordiv, floormod
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt_functor import substitute


def solve_linear_equations(
    equations: Sequence[Any] | IntConstraints,
    variables: Sequence[Var] | None = None,
    ranges: Ranges | None = None,
) -> IntConstraintsTransform:
    """Solve equations over the ints.

    Args:
        equations: The equations, `tir.EQ`, or a system. Other conditions, and equations
            that are not linear with constant factors, hold of the solution, too.
        variables: The variables to solve for; others are parameters.
        ranges: What variables are within.

    Returns:
        The system, and an equivalent one over as few variables as there may be, with
        what the variables of one are in those of the other. Of a system without a
        solution it has no variables, and a relation that is false.
    """
    system = as_constraints(equations, variables, ranges)
    if not system.variables:
        return IntConstraintsTransform(system, system, {}, {})
    analyzer = knowing(system.ranges)
    rows, sides, others = _matrix(system, analyzer)
    form = diagonal_form(rows, len(system.variables))
    dtype = system.variables[0].dtype
    sides = [analyzer.simplify(_combined(row, sides, dtype)) for row in form.left]
    relations = _solvable(form, sides, analyzer)
    if relations is None:
        return unsolvable(system)
    solved, free = _solved(form, sides, system, analyzer)
    src_to_dst = {
        var: analyzer.simplify(_combined(row, solved, var.dtype))
        for var, row in zip(system.variables, form.right, strict=True)
    }
    found = _inferred(free, system)
    relations += _in_ranges(system, src_to_dst, knowing(found))
    relations += [substitute(one, src_to_dst) for one in others]
    solution = IntConstraints(list(free), found, relations)
    return IntConstraintsTransform(system, solution, src_to_dst, free)


def _matrix(
    system: IntConstraints, analyzer: Analyzer
) -> tuple[list[list[int]], list[PrimExpr], list[PrimExpr]]:
    """Return the factors of equations, their right sides, and the other conditions."""
    rows, sides, others = list[list[int]](), list[PrimExpr](), list[PrimExpr]()
    for relation in system.relations:
        found = _factors(relation, system.variables, analyzer)
        if found is None:
            others.append(relation)
        else:
            rows.append(found[0])
            sides.append(found[1])
    return rows, sides, others


def _factors(
    relation: PrimExpr, variables: Sequence[Var], analyzer: Analyzer
) -> tuple[list[int], PrimExpr] | None:
    if not isinstance(relation, EQ):
        return None
    difference = analyzer.simplify(relation.a - relation.b)
    found = detect_linear_equation(difference, variables)
    factors = [analyzer.simplify(factor) for factor in found[:-1]]
    numbers = [factor.value for factor in factors if isinstance(factor, IntImm)]
    return (numbers, -found[-1]) if len(numbers) == len(variables) else None


def _combined(row: Sequence[int], terms: Sequence[PrimExpr], dtype: str) -> PrimExpr:
    """Return the sum of multiples of expressions."""
    result = const(0, dtype)
    for factor, term in zip(row, terms, strict=True):
        result = result + const(factor, dtype) * term
    return result


def _solvable(
    form: DiagonalForm, sides: Sequence[PrimExpr], analyzer: Analyzer
) -> list[PrimExpr] | None:
    """Return on which conditions there is a solution; None if there is none."""
    relations: list[PrimExpr] = []
    for index, side in enumerate(sides):
        divisor = abs(form.diagonal(index))
        remainder = floormod(side, const(divisor, side.dtype)) if divisor else side
        relation = analyzer.simplify(equal(remainder, const(0, side.dtype)))
        if not isinstance(relation, IntImm):
            relations.append(relation)
        elif not relation.value:
            return None
    return relations


def _solved(
    form: DiagonalForm,
    sides: Sequence[PrimExpr],
    system: IntConstraints,
    analyzer: Analyzer,
) -> tuple[list[PrimExpr], dict[Var, PrimExpr]]:
    """Return the elements of z, and what those that are new variables were."""
    solved, free = list[PrimExpr](), dict[Var, PrimExpr]()
    for index, row in enumerate(form.right_inverse):
        divisor = form.diagonal(index)
        if divisor:
            side = sides[index] if divisor > 0 else -sides[index]
            quotient = floordiv(side, const(abs(divisor), side.dtype))
            solved.append(analyzer.simplify(quotient))
            continue
        dtype = system.variables[0].dtype
        was = analyzer.simplify(_combined(row, system.variables, dtype))
        name = f"n{len(free)}" + (f"_{was.name}" if isinstance(was, Var) else "")
        var = Var(name, dtype)
        free[var] = was
        solved.append(var)
    return solved, free


def _inferred(free: Mapping[Var, PrimExpr], system: IntConstraints) -> dict[Var, Range]:
    """Return the ranges of new variables, and of those that were not solved for."""
    solved_for = {*system.variables}
    found = {var: one for var, one in system.ranges.items() if var not in solved_for}
    sets = {var: IntSet.from_range(one) for var, one in system.ranges.items()}
    analyzer = Analyzer()
    for var, was in free.items():
        values = analyzer.int_set(was, sets)
        if values.has_lower_bound() and values.has_upper_bound():
            low, high = map(analyzer.simplify, (values.min_value, values.max_value))
            count = analyzer.simplify(high - low + 1)
            found[var] = Range.from_min_extent(low, count)
    return found


def _in_ranges(
    system: IntConstraints, src_to_dst: Mapping[Var, PrimExpr], analyzer: Analyzer
) -> list[PrimExpr]:
    """Return on which conditions the variables are within their ranges."""
    conditions: list[PrimExpr] = []
    for var in system.variables:
        if var in system.ranges:
            within, value = system.ranges[var], src_to_dst[var]
            conditions += (within.min <= value, value < within.min + within.extent)
    simplified = [analyzer.simplify(one) for one in conditions]
    return [one for one in simplified if not (isinstance(one, IntImm) and one.value)]
