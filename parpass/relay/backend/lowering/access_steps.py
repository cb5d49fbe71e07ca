"""Accesses of neighbours in memory, as a loop's variable counts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.ir.node import Node, post_order
from parpass.ir.op.op_table import Op
from parpass.relay.backend.lowering.loops import INDEX
from parpass.target.vector_registers import LONGEST_STRIDE
from parpass.tir.expr import (
    Add,
    BufferLoad,
    Call,
    CmpExpr,
    IntImm,
    Mul,
    PrimExpr,
    Sub,
    Var,
)
from parpass.tir.stmt import BufferStore, Stmt
from parpass.tir.stmt_expr_functor import StmtExprMutator


def reads(node: Node, *variables: Var) -> bool:
    """Return whether one of some variables is read."""
    return any(one in variables for one in post_order(node))


def is_consecutive(stmt: Stmt, var: Var) -> bool:
    """Return whether a variable only counts neighbours in memory, and is compared.

    What is read may be a few elements apart.
    """
    calls = (one for one in post_order(stmt) if isinstance(one, Call))
    names = {one.op.name for one in calls if isinstance(one.op, Op)}
    if "tir.if_then_else" in names:
        return False
    return not reads(_OfNeighbours(var).visit(stmt), var)


class _OfNeighbours(StmtExprMutator):
    """Has accesses of neighbours and comparisons use 0 in the place of a variable."""

    def __init__(self, var: Var) -> None:
        super().__init__()
        self._var = var

    def visit_buffer_load_(self, op: BufferLoad) -> Node:
        indices = self._without_steps(op.indices, LONGEST_STRIDE)
        return self.visit_default(BufferLoad(op.buffer, indices))

    def visit_buffer_store_(self, op: BufferStore) -> Node:
        indices = self._without_steps(op.indices, 1)
        return self.visit_default(BufferStore(op.buffer, op.value, indices))

    def _compared(self, op: CmpExpr) -> Node:
        # A vector of indices is compared as quickly as it is made.
        sides: list[Any] = [
            IntImm(one.dtype, 0) if step_of(one, self._var) else self.visit(one)
            for one in (op.a, op.b)
        ]
        return type(op)(*sides)

    visit_eq_ = visit_ne_ = visit_lt_ = visit_le_ = visit_gt_ = visit_ge_ = _compared

    def _without_steps(
        self, indices: Sequence[PrimExpr], longest: int
    ) -> Sequence[PrimExpr]:
        if indices and 1 <= step_of(indices[-1], self._var) <= longest:
            return [*indices[:-1], IntImm(INDEX, 0)]
        return indices


def step_of(expr: PrimExpr, var: Var) -> int:
    """Return by how much an index grows with a variable; 0 for no constant, or none."""
    if isinstance(expr, Add | Sub) and not reads(expr.b, var):
        return step_of(expr.a, var)
    if isinstance(expr, Add) and not reads(expr.a, var):
        return step_of(expr.b, var)
    if isinstance(expr, Mul) and isinstance(expr.b, IntImm):
        return step_of(expr.a, var) * expr.b.value
    return 1 if expr is var else 0
