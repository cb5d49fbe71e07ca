"""Sums, products and quotients that mean the same in another order.

`a * b / c` is `a * (b / c)`, so the pattern of either matches both, as in TVM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parpass.ir.operators.op_table import Op
from parpass.relay.analysis.calls import call_of
from parpass.relay.dataflow_pattern.pattern import (
    CallPattern,
    DFPattern,
    ExprPattern,
    Patterns,
)
from parpass.relay.expr import Call, Expr

# Calls of these match with their arguments in either order.
COMMUTATIVE = frozenset({"add", "multiply"})

# A call of one may match the pattern of the other.
ASSOCIATED = {"multiply": "divide", "divide": "multiply"}


def op_name(pattern: DFPattern) -> str | None:
    """Return the name of the operator that a pattern stands for, if it is one."""
    if isinstance(pattern, ExprPattern) and isinstance(pattern.expr, Op):
        return pattern.expr.name
    return None


def reassociated(pattern: CallPattern, call: Call) -> Iterator[CallPattern]:
    """Give the patterns of `a * (b / c)` for `a * b / c`, and the other way round."""
    args = pattern.args
    if args is None or len(args) != 2:
        return
    wanted = op_name(pattern.op)
    if wanted == "divide" and call_of(call, "multiply") is not None:
        product = _pair_of("multiply", args[0])
        if product and _any_call_of("divide", call.args):
            multiply, factors = product
            for factor, other in (factors, factors[::-1]):
                quotient = CallPattern(pattern.op, (factor, args[1]))
                yield CallPattern(multiply, (other, quotient))
    elif wanted == "multiply" and call_of(call, "divide") is not None:
        for one, factor in (args, args[::-1]):
            quotient = _pair_of("divide", one)
            if quotient and _any_call_of("multiply", call.args):
                divide, (dividend, divisor) = quotient
                product = CallPattern(pattern.op, (dividend, factor))
                yield CallPattern(divide, (product, divisor))


def _pair_of(name: str, pattern: DFPattern) -> tuple[DFPattern, Patterns] | None:
    """Return callee and arguments of the pattern of a call with two, else None."""
    if not isinstance(pattern, CallPattern) or op_name(pattern.op) != name:
        return None
    args = tuple(pattern.args or ())
    return (pattern.op, args) if len(args) == 2 else None


def _any_call_of(name: str, exprs: Sequence[Expr]) -> bool:
    return any(call_of(expr, name) is not None for expr in exprs)
