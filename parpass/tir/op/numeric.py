"""Sums, products, quotients and extremes, folded where they are built."""

from __future__ import annotations

import math
from typing import Any

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.operators.op_table import Op
from parpass.tir.binary_op import (
    Add,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Sub,
)
from parpass.tir.const_fold import int_imm
from parpass.tir.data_type import data_type
from parpass.tir.expr import Call, Select
from parpass.tir.op.conversion import const
from parpass.tir.op.operands import binary, two_ints
from parpass.tir.prim_expr import FloatImm, IntImm, PrimExpr, as_prim_expr


class AmbiguousDivisionError(IRTypeError, RuntimeError):
    """Ints were divided by `/`, which may mean several things."""


def add(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """Return `lhs + rhs`."""
    return binary(Add, lhs, rhs, span)


def subtract(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """Return `lhs - rhs`."""
    return binary(Sub, lhs, rhs, span)


def multiply(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """Return `lhs * rhs`."""
    return binary(Mul, lhs, rhs, span)


def neg(a: Any, span: Span | None = None) -> PrimExpr:
    """Return `-a`, as `a * -1` (TVM's choice for Python's operator)."""
    expr = as_prim_expr(a)
    return multiply(expr, const(-1, expr.dtype), span)


def divide(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """Return what Python's `/` means: of floats, their quotient.

    Raises:
        AmbiguousDivisionError: Both are ints.
    """
    a, b = as_prim_expr(lhs), as_prim_expr(rhs)
    if data_type(a.dtype).is_integral and data_type(b.dtype).is_integral:
        raise AmbiguousDivisionError(
            "expected floats for '/', got ints, of which there are several divisions: "
            "call tir.floordiv, tir.truncdiv, tir.indexdiv or tir.div"
        )
    return div(a, b, span)


def div(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a / b`, of ints rounded towards zero, as in C."""
    return binary(Div, a, b, span)


def truncdiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a / b` of ints, rounded towards zero."""
    return div(*two_ints("truncdiv", a, b), span)


def truncmod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return what `truncdiv` leaves."""
    return binary(Mod, a, b, span)


def floordiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a / b` of ints, rounded down."""
    return binary(FloorDiv, *two_ints("floordiv", a, b), span)


def floormod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return what `floordiv` leaves."""
    return binary(FloorMod, *two_ints("floormod", a, b), span)


def indexdiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a / b` of indices, which are not negative."""
    return floordiv(a, b, span)


def indexmod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return what `indexdiv` leaves."""
    return floormod(a, b, span)


def minimum(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return the lesser of two."""
    return binary(Min, a, b, span)


def maximum(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return the greater of two."""
    return binary(Max, a, b, span)


def abs(x: Any, span: Span | None = None) -> PrimExpr:  # noqa: A001 -- TVM's name
    """Return the absolute value."""
    expr = as_prim_expr(x)
    kind = data_type(expr.dtype)
    if isinstance(expr, IntImm):
        return int_imm(expr.dtype, expr.value if expr.value > 0 else -expr.value)
    if isinstance(expr, FloatImm):
        return FloatImm(expr.dtype, math.fabs(expr.value))
    if kind.code in ("uint", "bool"):
        return expr
    if kind.is_floating:
        return Call(expr.dtype, Op.get("tir.fabs"), (expr,), span)
    if kind.code != "int":
        raise IRTypeError(f"expected numbers for abs, got {expr.dtype}")
    zero = const(0, expr.dtype)
    return Select(expr >= zero, expr, zero - expr, span)
