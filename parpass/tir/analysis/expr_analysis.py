"""Analyses of expressions: structural equality, and side effects of evaluation."""

from __future__ import annotations

from typing import Any

from parpass.ir.node import Node, children, post_order
from parpass.ir.op.op_table import Op
from parpass.ir.structural import structural_equal
from parpass.tir.expr import (
    BufferLoad,
    Call,
    CallEffectKind,
    Load,
    PrimExpr,
    as_prim_expr,
)
from parpass.tir.op.builtin import call_effect


def expr_deep_equal(lhs: Any, rhs: Any) -> bool:
    """Return whether two expressions compute the same from the same variables.

    A number stands for the constant that it becomes in an expression.
    """
    return lhs is rhs or structural_equal(as_prim_expr(lhs), as_prim_expr(rhs))


def side_effect(expr: PrimExpr) -> CallEffectKind:
    """Return the greatest effect of evaluating an expression: TVM's `SideEffect`."""
    return max(map(_effect, post_order(expr)))


def is_pure(expr: PrimExpr, known: set[Node]) -> bool:
    """Return whether evaluating an expression reads and changes nothing.

    Args:
        expr: The expression.
        known: Nodes of which that is known, which are not gone into; others are added.
    """
    order = post_order(expr, lambda node: () if node in known else children(node))
    if any(_effect(node) > CallEffectKind.Pure for node in order):
        return False
    known.update(order)
    return True


def _effect(node: Node) -> CallEffectKind:
    """Return what a node does by itself."""
    if isinstance(node, Load | BufferLoad):
        return CallEffectKind.ReadState
    if isinstance(node, Call):
        is_known = isinstance(node.op, Op)
        return call_effect(node.op) if is_known else CallEffectKind.Opaque
    return CallEffectKind.Pure
