"""Predicates on one expression or type: calls, static shapes, constants."""

from __future__ import annotations

from parpass.ir.op.op_table import Op
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Constant, Expr, Tuple


def call_of(expr: Expr, *names: str) -> Call | None:
    """Return an expression if it calls one of some operators, else None."""
    if isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in names:
        return expr
    return None


def static_tensor(found: Type | None) -> TensorType | None:
    """Return a type if it is a tensor type of known shape, else None."""
    if not isinstance(found, TensorType):
        return None
    return found if all(isinstance(dim, int) for dim in found.shape) else None


def check_constant(expr: Expr) -> bool:
    """Return whether an expression is a constant, or a tuple of constants.

    Tuples may be nested to any depth.
    """
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
