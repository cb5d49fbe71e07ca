"""Which functions of a module an expression refers to."""

from __future__ import annotations

from parpass.ir.node import post_order
from parpass.relay.expr import Expr, GlobalVar


def called_globals(expr: Expr) -> list[GlobalVar]:
    """Return the global variables in an expression, in order of first appearance.

    Two objects of one name mean the same function; the first is returned.
    """
    found: dict[str, GlobalVar] = {}
    for node in post_order(expr):
        if isinstance(node, GlobalVar):
            found.setdefault(node.name_hint, node)
    return list(found.values())
