"""The rules by which loop programs are reduced, besides the fields of nodes."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from parpass.ir.node import children
from parpass.ir.reduction_rules import ReductionRules
from parpass.tir.data_type import data_type
from parpass.tir.expr import FloatImm, IntImm, PrimExpr
from parpass.tir.op import const
from parpass.tir.stmt import Evaluate, IfThenElse, SeqStmt, Stmt, is_no_op

_NOTHING = Evaluate(0)


class LoopReductionRules(ReductionRules):
    """The rules of loop programs: of statements, and of expressions by their dtype."""

    def sort(self, node: Any) -> object:
        """Return the dtype of an expression; all statements are of one sort."""
        if isinstance(node, PrimExpr):
            return node.dtype
        return Stmt if isinstance(node, Stmt) else None

    def nothing(self, node: Any) -> Stmt | None:
        """Return the statement that does nothing, for one that does something."""
        return _NOTHING if isinstance(node, Stmt) and not is_no_op(node) else None

    def smallest(self, node: Any) -> PrimExpr | None:
        """Return 0, or nothing but 0s."""
        is_number = isinstance(node, PrimExpr) and (
            data_type(node.dtype).code not in ("handle", "void")
        )
        return const(0, node.dtype) if is_number else None

    def is_smallest(self, node: Any) -> bool:
        """Return whether a node is 0 or 1."""
        return isinstance(node, IntImm | FloatImm) and node.value in (0, 1)

    def alone(self, node: Any, part: Any) -> Stmt | None:
        """Return the statement that evaluates an expression of a statement."""
        is_one = isinstance(node, Stmt) and not isinstance(node, Evaluate)
        is_made = isinstance(part, PrimExpr) and bool(children(part))
        return Evaluate(part) if is_one and is_made else None

    def tidied(self, node: Any) -> Any:
        """Return a sequence, or a branch, without statements that do nothing."""
        if isinstance(node, SeqStmt):
            left = [one for one in node.seq if not is_no_op(one)]
            return left[0] if len(left) == 1 else SeqStmt(left) if left else _NOTHING
        if isinstance(node, IfThenElse) and is_no_op(node.else_case):
            return structs.replace(node, else_case=None)
        return node
