"""RemoveNoOp: statements that do nothing go."""

from __future__ import annotations

import operator
from typing import Any

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.tir.analysis.expr_analysis import side_effect
from parpass.tir.expr import CallEffectKind, IntImm, PrimExpr
from parpass.tir.function import PrimFunc
from parpass.tir.stmt import (
    Allocate,
    AttrStmt,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Sequences,
    Stmt,
    is_no_op,
    stmt_seq,
)
from parpass.tir.stmt_expr_functor import StmtMutator, statements_in
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass


@register_pass("tir.transform.RemoveNoOp")
class RemoveNoOp(PrimFuncPass):
    """Remove statements without effect, and statements that contain nothing else.

    ::

        for i in range(0, n):
            if i < m:
                evaluate(A[i])
        B[0] = 1

    becomes::

        B[0] = 1

    An expression that is evaluated, such as a condition, stays if it may
    have effects.
    """

    pass_info = PassInfo(0, "tir.RemoveNoOp")
    cacheable = True

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function without what does nothing."""
        body = NoOpRemover(func.body).visit(func.body)
        assert isinstance(body, Stmt)
        return func.with_body(body)


class NoOpRemover(StmtMutator):
    """Removes what does nothing, the inner statements first.

    Args:
        body: The statement that is visited.
    """

    def __init__(self, body: Stmt) -> None:
        super().__init__()
        self._sequences = Sequences(body, statements_in)

    def visit_evaluate_(self, op: Evaluate) -> Node:
        """Forget what has no effect."""
        return op if is_no_op(op) else _evaluated(op, op.value)

    def visit_let_stmt_(self, op: LetStmt) -> Any:
        """Keep the value where it may do something."""
        new = yield from self.visit_children(op)
        return _evaluated(new, new.value) if is_no_op(new.body) else new

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Forget attributes of nothing, and what is only for debugging."""
        if op.attr_key == "pragma_debug_skip_region":
            return Evaluate(0)
        new = yield from self.visit_children(op)
        return _evaluated(new, new.value) if is_no_op(new.body) else new

    def visit_if_then_else_(self, op: IfThenElse) -> Any:
        """Keep the branches that do something, or the condition."""
        new = yield from self.visit_children(op)
        has_else = new.else_case is not None and not is_no_op(new.else_case)
        if has_else:
            return new
        if is_no_op(new.then_case):
            return _evaluated(new, new.condition)
        return new if new.else_case is None else structs.replace(new, else_case=None)

    def visit_for_(self, op: For) -> Any:
        """Forget loops of no rounds, and around nothing."""
        if isinstance(op.extent, IntImm) and op.extent.value == 0:
            return Evaluate(0)
        new = yield from self.visit_children(op)
        if not is_no_op(new.body):
            return new
        return _evaluated(new, new.min, new.extent)

    def visit_allocate_(self, op: Allocate) -> Any:
        """Forget memory that nothing uses."""
        new = yield from self.visit_children(op)
        return _evaluated(new, *new.extents) if is_no_op(new.body) else new

    def visit_seq_stmt_(self, op: SeqStmt) -> Any:
        """Keep the statements that do something, of those in this one and in others."""
        kept: list[Stmt] = []
        for stmt in self._sequences.laid_out(op):
            new = yield from self.visit_child(stmt)
            is_laid_out = isinstance(new, SeqStmt) and not isinstance(stmt, SeqStmt)
            of_one = new.seq if is_laid_out else (new,)
            kept += [one for one in of_one if not is_no_op(one)]
        if len(kept) == len(op) and all(map(operator.is_, kept, op.seq)) and kept[1:]:
            return op
        return stmt_seq(*kept) if kept else Evaluate(0)


def _evaluated(stmt: Stmt, *values: PrimExpr) -> Stmt:
    """Return what is left of a statement: the values in it that do something."""
    kept = [one for one in values if side_effect(one) > CallEffectKind.ReadState]
    if isinstance(stmt, Evaluate) and kept:
        return stmt
    return stmt_seq(*kept) if kept else Evaluate(0)
