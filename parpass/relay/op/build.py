"""What every builder ends in."""

from __future__ import annotations

from parpass.relay.expr import Call, Operand, as_expr
from parpass.relay.op.registry import Attrs, Op


def call_op(op: Op, args: tuple[Operand, ...], attrs: Attrs | None = None) -> Call:
    """Return a call of an operator; Python numbers become constants.

    Raises:
        IRTypeError: An argument is neither an expression nor a number.
    """
    return Call(op, tuple(map(as_expr, args)), attrs)
