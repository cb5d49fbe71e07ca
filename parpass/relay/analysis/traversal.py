"""Looking at every node of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parpass.ir.module import IRModule
from parpass.ir.node import Node, post_order
from parpass.ir.operators.op_table import Op
from parpass.relay.expr import Expr

if TYPE_CHECKING:
    from collections.abc import Callable


def post_order_visit(expr: Expr, fvisit: Callable[[Any], object]) -> None:
    """Call `fvisit` on each node of an expression once, children before parents."""
    for node in post_order(expr):
        if isinstance(node, Expr):
            fvisit(node)


def node_count(program: Expr | IRModule) -> int:
    """Return how many nodes a program has, operators not counted.

    A node that is used many times counts once in each function of a module.
    """
    if isinstance(program, IRModule):
        return sum(node_count(f) for f in program.functions_by_name.values())
    return sum(_counts(node) for node in post_order(program))


def _counts(node: Node) -> bool:
    return isinstance(node, Expr) and not isinstance(node, Op)
