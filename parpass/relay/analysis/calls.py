"""Which expressions are calls of certain operators."""

from __future__ import annotations

from parpass.ir.operators.op_table import Op
from parpass.relay.expr import Call, Expr


def call_of(expr: Expr, *names: str) -> Call | None:
    """Return an expression if it is a call of one of some operators, else None."""
    if isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in names:
        return expr
    return None
