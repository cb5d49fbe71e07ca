"""Reductions of values over axes.

They stand in the expressions of `parpass.te`; `te.create_prim_func` makes loops of
them, and statements have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.node import FieldKind, Node, reflected
from parpass.tir.expr.iteration import IterVar
from parpass.tir.expr.prim_expr import Operands, PrimExpr, as_prim_expr, as_prim_exprs
from parpass.tir.expr.scalar import Var, set_dtype
from parpass.tir.expr.vector import const_true


@reflected(
    is_graph=False,
    scopes=("result",),
    lhs=FieldKind.BINDINGS,
    rhs=FieldKind.BINDINGS,
    result=FieldKind.CHILDREN,
    identity_element=FieldKind.CHILDREN,
)
class CommReducer(Node, frozen=True, eq=False):
    """A commutative reduction of two values, or tuples of values, to one.

    Attributes:
        lhs: The variables of the first.
        rhs: The variables of the second.
        result: The combination of both.
        identity_element: The value that leaves the second operand unchanged.
    """

    namespace = "tir"

    lhs: Sequence[Var]
    rhs: Sequence[Var]
    result: Operands
    identity_element: Operands
    span: Span | None = None

    def __post_init__(self) -> None:
        for name in ("lhs", "rhs"):
            force_setattr(self, name, tuple(getattr(self, name)))
        for name in ("result", "identity_element"):
            force_setattr(self, name, as_prim_exprs(getattr(self, name)))
        sizes = {len(each) for each in (self.lhs, self.rhs, self.result)}
        if sizes != {len(self.identity_element)}:
            raise IRTypeError(
                "expected as many results and identity elements of a CommReducer as "
                f"variables on each side, got {len(self.lhs)}, {len(self.rhs)}, "
                f"{len(self.result)} and {len(self.identity_element)}"
            )


def _axes(reduce: Reduce) -> tuple[Var, ...]:
    return tuple(axis.var for axis in reduce.axis)


@reflected(
    is_graph=False,
    bindings=_axes,
    combiner=FieldKind.OPTIONAL,
    source=FieldKind.CHILDREN,
    axis=FieldKind.CHILDREN,
    condition=FieldKind.CHILD,
    init=FieldKind.CHILDREN,
    dtype=FieldKind.DERIVED,
)
class Reduce(PrimExpr, frozen=True, eq=False):
    """A reduction of values along axes.

    Attributes:
        combiner: The reducer of two values; None if it is not set yet.
        source: The values, one for each component of the combiner.
        axis: The axes.
        condition: Elements for which it is false are left out.
        value_index: The index of the combiner's result.
        init: The initial value; empty for the identity element.
    """

    combiner: CommReducer | None
    source: Operands
    axis: Sequence[IterVar]
    condition: Any
    value_index: int
    init: Any = ()
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "source", as_prim_exprs(self.source))
        force_setattr(self, "init", as_prim_exprs(self.init or ()))
        force_setattr(self, "axis", tuple(self.axis))
        held: Any = self.condition
        held = const_true() if held is None else as_prim_expr(held)
        force_setattr(self, "condition", held)
        for axis in cast("tuple[object, ...]", self.axis):
            if not isinstance(axis, IterVar) or axis.iter_type != IterVar.CommReduce:
                raise IRTypeError(
                    f"expected axes of te.reduce_axis for a reduction, got {axis!r}"
                )
        combined = len(self.source if self.combiner is None else self.combiner.lhs)
        is_of_them = 0 <= self.value_index < len(self.source)
        if not is_of_them or len(self.source) != combined:
            raise IRTypeError(
                f"expected {combined} values for a reduction, and the "
                f"index of one, got {len(self.source)} and {self.value_index}"
            )
        set_dtype(self, self.source[self.value_index].dtype)
