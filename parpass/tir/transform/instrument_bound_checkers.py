"""InstrumentBoundCheckers: an access out of bounds is an assertion that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.tir.data_type import data_type
from parpass.tir.expr import Load, Var
from parpass.tir.function import PrimFunc
from parpass.tir.op import const, logical_and, multiply
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Stmt,
    Store,
)
from parpass.tir.stmt_expr_functor import StmtMutator
from parpass.tir.transform.bounds.guarded_loads import guarded_loads
from parpass.tir.transform.bounds.lanes_inside import is_inside
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass

MESSAGE = "OUT OF THE BOUNDS"


@register_pass("tir.transform.InstrumentBoundCheckers")
class InstrumentBoundCheckers(PrimFuncPass):
    """Check each store, and the loads in it, against the memory that there is.

    ::

        attr buffer_bound(B) = 8:
            B[i] = 1

    becomes::

        attr buffer_bound(B) = 8:
            if not i < 0 and i < 8:
                B[i] = 1
            else:
                assert not i < 0 and i < 8, "OUT OF THE BOUNDS"

    How much memory there is, an allocation says, or the attribute that
    `StorageFlatten` makes. What names (`LetStmt`), conditions, extents of loops and
    calls load is checked, too, and what is only perhaps evaluated, on the condition
    that it is. The condition of a `While` is not checked.
    """

    pass_info = PassInfo(0, "tir.InstrumentBoundCheckers")

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function with checks."""
        body = BoundChecker().visit(func.body)
        assert isinstance(body, Stmt)
        return func.with_body(body)


class BoundChecker(StmtMutator):
    """Puts a check around stores and names."""

    def __init__(self) -> None:
        super().__init__()
        self._bounds: dict[Var, PrimExpr] = {}

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Remember how much memory a parameter has."""
        if op.attr_key == "buffer_bound" and isinstance(op.node, Var):
            self._bounds[op.node] = op.value
        return (yield from self.visit_children(op))

    def visit_allocate_(self, op: Allocate) -> Any:
        """Remember how much memory is allocated."""
        bound: PrimExpr = IntImm("int32", data_type(op.dtype).lanes)
        for extent in op.extents:
            bound = multiply(bound, extent)
        self._bounds[op.buffer_var] = bound
        return (yield from self.visit_children(op))

    def visit_store_(self, op: Store) -> Node:
        """Check what is loaded for a store, and the store."""
        loads = self._of_loads(op.index, op.predicate, op.value)
        return _checked(op, [*loads, *self._of(op)])

    def visit_let_stmt_(self, op: LetStmt) -> Any:
        """Check what is loaded for a name."""
        new = yield from self.visit_children(op)
        return _checked(new, self._of_loads(new.value))

    def visit_if_then_else_(self, op: IfThenElse) -> Any:
        """Check what is loaded for a condition."""
        new = yield from self.visit_children(op)
        return _checked(new, self._of_loads(new.condition))

    def visit_for_(self, op: For) -> Any:
        """Check what is loaded for the extent of a loop."""
        new = yield from self.visit_children(op)
        return _checked(new, self._of_loads(new.min, new.extent))

    def visit_assert_stmt_(self, op: AssertStmt) -> Any:
        """Check what is loaded for an assertion."""
        new = yield from self.visit_children(op)
        return _checked(new, self._of_loads(new.condition))

    def visit_evaluate_(self, op: Evaluate) -> Node:
        """Check what is loaded for a call."""
        return _checked(op, self._of_loads(op.value))

    def _of_loads(self, *exprs: PrimExpr) -> list[PrimExpr]:
        """Return the checks of what expressions load."""
        return [
            one.if_evaluated(check)
            for one in guarded_loads(*exprs)
            for check in self._of(one.load)
        ]

    def _of(self, access: Load | Store) -> list[PrimExpr]:
        bound = self._bounds.get(access.buffer_var)
        return [] if bound is None else [is_inside(access, bound)]


def _checked(stmt: Stmt, checks: Sequence[PrimExpr]) -> Stmt:
    condition: PrimExpr = const(True, "bool")
    for check in checks:
        condition = logical_and(condition, check)
    if isinstance(condition, IntImm) and condition.value:
        return stmt
    return IfThenElse(condition, stmt, AssertStmt(condition, MESSAGE, Evaluate(1)))
