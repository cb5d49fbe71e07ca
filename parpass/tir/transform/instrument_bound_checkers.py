"""InstrumentBoundCheckers: an access out of bounds is an assertion that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.ir.module import IRModule
from parpass.ir.node import Node, children
from parpass.ir.operators.op_table import Op
from parpass.tir.binary_op import LogicalExpr
from parpass.tir.data_type import data_type
from parpass.tir.expr import Call, Let, Load, Ramp, Select, Var
from parpass.tir.function import PrimFunc
from parpass.tir.op import add, const, less, logical_and, multiply
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    Evaluate,
    IfThenElse,
    LetStmt,
    Stmt,
    Store,
)
from parpass.tir.stmt_expr_functor import StmtMutator
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass

_IF_THEN_ELSE = Op.get("tir.if_then_else")
MESSAGE = "OUT OF THE BOUNDS"


@register_pass("tir.transform.InstrumentBoundCheckers")
class InstrumentBoundCheckers(PrimFuncPass):
    """Check each store, and the loads in it, against the memory that there is.

    ::

        attr buffer_bound(B) = 8:
            B[i] = 1

    becomes::

        attr buffer_bound(B) = 8:
            if 0 <= i and i < 8:
                B[i] = 1
            else:
                assert 0 <= i and i < 8, "OUT OF THE BOUNDS"

    How much memory there is, an allocation says, or the attribute that
    `StorageFlatten` makes. Loads that a name is given to (`LetStmt`) are checked, too;
    those that are only perhaps evaluated are not checked.
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
        """Check a store, and what is loaded for it."""
        return self._checked(op, [op, *_loads(op.index, op.value)])

    def visit_let_stmt_(self, op: LetStmt) -> Any:
        """Check what is loaded for a name."""
        new = yield from self.visit_children(op)
        return self._checked(new, _loads(new.value))

    def _checked(self, stmt: Stmt, accesses: Sequence[Load | Store]) -> Stmt:
        checks = [check for one in accesses for check in self._checks(one)]
        if not checks:
            return stmt
        condition = checks[0]
        for check in checks[1:]:
            condition = logical_and(condition, check)
        if isinstance(condition, IntImm) and condition.value:
            return stmt
        return IfThenElse(condition, stmt, AssertStmt(condition, MESSAGE, Evaluate(1)))

    def _checks(self, access: Any) -> list[PrimExpr]:
        bound, index = self._bounds.get(access.buffer_var), access.index
        if bound is None or not _is_always(access.predicate):
            return []
        ends = [index]
        if isinstance(index, Ramp):
            last = multiply(index.stride, const(index.lanes - 1, index.stride.dtype))
            ends = [index.base, add(index.base, last)]
        elif data_type(index.dtype).lanes > 1:
            return []
        checks: list[PrimExpr] = []
        for one in ends:
            checks += (one >= const(0, one.dtype), less(one, bound))
        return checks


def _is_always(predicate: PrimExpr) -> bool:
    found: Any = getattr(predicate, "value", None)
    value: Any = getattr(found, "value", found)
    return value == 1


def _loads(*exprs: PrimExpr) -> list[Load]:
    """Return the loads that are evaluated, whatever comes of their conditions."""
    found: list[Load] = []
    stack: list[Node] = [*exprs]
    while stack:
        node = stack.pop()
        if isinstance(node, Load):
            found.append(node)
        if isinstance(node, Select):
            stack.append(node.condition)
        elif isinstance(node, LogicalExpr):
            stack.append(node.a)
        elif isinstance(node, Let):
            stack.append(node.value)
        elif isinstance(node, Call) and node.op is _IF_THEN_ELSE:
            stack.append(node.args[0])
        else:
            stack += reversed(children(node))
    return found
