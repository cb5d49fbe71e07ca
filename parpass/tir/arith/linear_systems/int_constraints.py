"""Variables, what they range over, and conditions that hold of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from parpass.errors import IRTypeError
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.data_type import data_type
from parpass.tir.expr import Var
from parpass.tir.iteration import Range
from parpass.tir.op import const
from parpass.tir.prim_expr import PrimExpr, as_prim_expr

Ranges = Mapping[Var, Range]


@dataclass(frozen=True, eq=False)
class IntConstraints:
    """Ints that are looked for, and what is known of them.

    Attributes:
        variables: The variables to solve for.
        ranges: What they, and others that conditions mention, are within.
        relations: Conditions that hold.

    Raises:
        IRTypeError: A variable is of another dtype than ints.
    """

    variables: Sequence[Var] = ()
    ranges: Ranges = field(default_factory=dict[Var, Range])
    relations: Sequence[PrimExpr] = ()

    def __post_init__(self) -> None:
        put = cast("Any", object.__setattr__)  # the fields may have been given as None
        put(self, "variables", [*(self.variables or ())])
        put(self, "ranges", dict(self.ranges or {}))
        put(self, "relations", [as_prim_expr(one) for one in self.relations])
        for var in self.variables:
            if not data_type(var.dtype).is_integral:
                raise IRTypeError(
                    f"expected variables of ints for IntConstraints, got '{var.name}' "
                    f"of {var.dtype}"
                )


@dataclass(frozen=True, eq=False)
class IntConstraintsTransform:
    """Two systems with the same solutions, over other variables.

    Attributes:
        src: The one.
        dst: The other.
        src_to_dst: What each variable of `src` is, in those of `dst`.
        dst_to_src: What each variable of `dst` is, in those of `src`.
    """

    src: IntConstraints
    dst: IntConstraints
    src_to_dst: Mapping[Var, PrimExpr]
    dst_to_src: Mapping[Var, PrimExpr]


def as_constraints(
    relations: Sequence[Any] | IntConstraints,
    variables: Sequence[Var] | None,
    ranges: Ranges | None,
) -> IntConstraints:
    """Return a system that was given whole, or by its parts.

    Raises:
        IRTypeError: A whole one was given, and parts as well.
    """
    if not isinstance(relations, IntConstraints):
        return IntConstraints(variables or (), ranges or {}, relations)
    if variables is not None or ranges is not None:
        raise IRTypeError("expected IntConstraints alone, got variables or ranges, too")
    return relations


NO_SOLUTION = IntConstraints(relations=[const(0, "bool")])


def unsolvable(system: IntConstraints) -> IntConstraintsTransform:
    """Return what tells that a system has no solution: a condition that is false."""
    return IntConstraintsTransform(system, NO_SOLUTION, {}, {})


def knowing(ranges: Ranges) -> Analyzer:
    """Return an analyzer that knows what variables are within."""
    analyzer = Analyzer()
    for var, within in ranges.items():
        analyzer.bind(var, within)
    return analyzer
