"""Comparisons, what joins them, and what they decide."""

from __future__ import annotations

from typing import Any

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.op.op_table import Op
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    Call,
    IntImm,
    Not,
    Or,
    PrimExpr,
    as_prim_expr,
)
from parpass.tir.expr.binary_op import check_bool
from parpass.tir.op.operands import binary, match_types

__all__ = [
    "all",
    "any",
    "equal",
    "greater",
    "greater_equal",
    "if_then_else",
    "less",
    "less_equal",
    "likely",
    "logical_and",
    "logical_not",
    "logical_or",
    "not_equal",
]


def equal(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a == b` as an expression."""
    return binary(EQ, a, b, span)


def not_equal(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a != b` as an expression."""
    return binary(NE, a, b, span)


def less(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a < b`."""
    return binary(LT, a, b, span)


def less_equal(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a <= b`."""
    return binary(LE, a, b, span)


def greater(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a > b`."""
    return binary(GT, a, b, span)


def greater_equal(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a >= b`."""
    return binary(GE, a, b, span)


def logical_and(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return whether both hold."""
    return _logical(And, a, b, span)


def logical_or(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return whether one of two holds."""
    return _logical(Or, a, b, span)


def _logical(kind: type[And | Or], a: Any, b: Any, span: Span | None) -> PrimExpr:
    lhs, rhs = as_prim_expr(a), as_prim_expr(b)
    for one in (lhs, rhs):
        if data_type(one.dtype).code != "bool":
            raise IRTypeError(
                f"expected bools for {kind.__name__}, got {one.dtype}; compare it with "
                "something"
            )
    return binary(kind, lhs, rhs, span)


def logical_not(a: Any, span: Span | None = None) -> PrimExpr:
    """Return whether something does not hold."""
    expr = as_prim_expr(a)
    check_bool(Not, expr)
    return (
        IntImm("bool", 1 - expr.value) if isinstance(expr, IntImm) else Not(expr, span)
    )


def all(*args: Any, span: Span | None = None) -> PrimExpr:  # noqa: A001 -- TVM's name
    """Return whether all of several conditions hold.

    Raises:
        IRTypeError: There are none.
    """
    return _chained(logical_and, "all", args, span)


def any(*args: Any, span: Span | None = None) -> PrimExpr:  # noqa: A001 -- TVM's name
    """Return whether one of several conditions holds.

    Raises:
        IRTypeError: There are none.
    """
    return _chained(logical_or, "any", args, span)


def _chained(
    join: Any, name: str, args: tuple[Any, ...], span: Span | None
) -> PrimExpr:
    if not args:
        raise _NoArgumentsError(f"expected one condition or more for {name}, got none")
    found = as_prim_expr(args[0])
    for one in args[1:]:
        found = join(found, one, span)
    return found


class _NoArgumentsError(IRTypeError, ValueError):
    """There is nothing to join."""


def if_then_else(cond: Any, t: Any, f: Any, span: Span | None = None) -> PrimExpr:
    """Return one of two values; only the selected one is evaluated."""
    condition = as_prim_expr(cond)
    if condition.dtype != "bool":
        raise IRTypeError(
            f"expected a scalar bool for the condition of if_then_else, got "
            f"{condition.dtype}"
        )
    true, false = match_types(t, f)
    if isinstance(condition, IntImm):
        return true if condition.value else false
    op = Op.get("tir.if_then_else")
    return Call(true.dtype, op, (condition, true, false), span)


def likely(cond: Any, span: Span | None = None) -> PrimExpr:
    """Return a condition marked as usually true."""
    condition = as_prim_expr(cond)
    if isinstance(condition, IntImm):
        return condition
    return Call(condition.dtype, Op.get("tir.likely"), (condition,), span)
