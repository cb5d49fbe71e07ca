"""Counts over programs: nodes and operators; and visits of all nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from parpass.ir.module import IRModule
from parpass.ir.node import Node, post_order
from parpass.ir.op.op_table import Op
from parpass.relay.expr import Call, Expr


def post_order_visit(expr: Expr, fvisit: Callable[[Any], object]) -> None:
    """Call `fvisit` on each node of an expression once, children before parents."""
    for node in post_order(expr):
        if isinstance(node, Expr):
            fvisit(node)


def node_count(program: Expr | IRModule) -> int:
    """Return the number of nodes in a program, without operators.

    In a module, a shared node counts once for each function.
    """
    if isinstance(program, IRModule):
        return sum(node_count(f) for f in program.functions_by_name.values())
    return sum(_counts(node) for node in post_order(program))


def _counts(node: Node) -> bool:
    return isinstance(node, Expr) and not isinstance(node, Op)


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """Return the number of calls of each operator in a module, largest first."""
    found = Counter(
        node.op.name
        for function in mod.functions_by_name.values()
        for node in post_order(function)
        if isinstance(node, Call) and isinstance(node.op, Op)
    )
    return dict(found.most_common())
