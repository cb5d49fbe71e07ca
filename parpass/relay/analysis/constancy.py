"""Which expressions are known before the program runs."""

from __future__ import annotations

from parpass.relay.expr import Constant, Expr, Tuple


def check_constant(expr: Expr) -> bool:
    """Return whether an expression is a constant, or a tuple of such, however deep."""
    seen: set[Expr] = set()
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Tuple):
            waiting += [field for field in node.fields if field not in seen]
            seen.update(node.fields)
        elif not isinstance(node, Constant):
            return False
    return True
