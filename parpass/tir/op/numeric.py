"""Operators on numbers and bits, folded where they are built."""

from __future__ import annotations

import math
from typing import Any

from parpass.diagnostic import Span
from parpass.errors import IRError, IRTypeError
from parpass.ir.op.op_table import Op
from parpass.tir.data_type import data_type, int_range
from parpass.tir.expr import (
    Call,
    FloatImm,
    IntImm,
    PrimExpr,
    Select,
    as_prim_expr,
    binary_op,
)
from parpass.tir.op.const_fold import INDEX, int_imm
from parpass.tir.op.operands import binary, const, match_types, two_ints

__all__ = [
    "AmbiguousDivisionError",
    "abs",
    "add",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "div",
    "divide",
    "floordiv",
    "floormod",
    "indexdiv",
    "indexmod",
    "left_shift",
    "maximum",
    "minimum",
    "multiply",
    "neg",
    "right_shift",
    "subtract",
    "truncdiv",
    "truncmod",
]


class AmbiguousDivisionError(IRTypeError, RuntimeError):
    """Ints were divided by `/`, which may mean several things."""


def add(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """Return `lhs + rhs`."""
    return binary(binary_op.Add, lhs, rhs, span)


def subtract(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """Return `lhs - rhs`."""
    return binary(binary_op.Sub, lhs, rhs, span)


def multiply(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """Return `lhs * rhs`."""
    return binary(binary_op.Mul, lhs, rhs, span)


def neg(a: Any, span: Span | None = None) -> PrimExpr:
    """Return `-a`, as `a * -1` (TVM's choice for Python's operator)."""
    expr = as_prim_expr(a)
    return multiply(expr, const(-1, expr.dtype), span)


def divide(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """Return the result of Python's `/`: for floats, their quotient.

    Raises:
        AmbiguousDivisionError: Both are ints.
    """
    a, b = as_prim_expr(lhs), as_prim_expr(rhs)
    if data_type(a.dtype).is_integral and data_type(b.dtype).is_integral:
        raise AmbiguousDivisionError(
            "expected floats for '/', got ints, which have several divisions: "
            "call tir.floordiv, tir.truncdiv, tir.indexdiv or tir.div"
        )
    return div(a, b, span)


def div(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a / b`; ints are rounded towards zero, as in C."""
    return binary(binary_op.Div, a, b, span)


def truncdiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a / b` of ints, rounded towards zero."""
    return div(*two_ints("truncdiv", a, b), span)


def truncmod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return the remainder of `truncdiv`."""
    return binary(binary_op.Mod, a, b, span)


def floordiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a / b` of ints, rounded down."""
    return binary(binary_op.FloorDiv, *two_ints("floordiv", a, b), span)


def floormod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return the remainder of `floordiv`."""
    return binary(binary_op.FloorMod, *two_ints("floormod", a, b), span)


def indexdiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a / b` of indices, which are not negative."""
    return floordiv(a, b, span)


def indexmod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return the remainder of `indexdiv`."""
    return floormod(a, b, span)


def minimum(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return the smaller of two."""
    return binary(binary_op.Min, a, b, span)


def maximum(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return the larger of two."""
    return binary(binary_op.Max, a, b, span)


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


class BitsOfFloatError(IRTypeError, RuntimeError):
    """The bits of a float were asked for by `~`."""


def _operands(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Return two ints of one dtype; a number of Python's takes that of the other."""
    lhs, rhs = two_ints(name, a, b)
    if type(b) is int and b in int_range(data_type(lhs.dtype).element):
        rhs = const(b, lhs.dtype)
    elif type(a) is int and a in int_range(data_type(rhs.dtype).element):
        lhs = const(a, rhs.dtype)
    return match_types(lhs, rhs)


def _bitwise(name: str, a: Any, b: Any, span: Span | None) -> PrimExpr:
    lhs, rhs = _operands(name, a, b)
    if isinstance(lhs, IntImm) and isinstance(rhs, IntImm) and lhs.dtype in INDEX:
        x, y = lhs.value, rhs.value
        found = {"bitwise_and": x & y, "bitwise_or": x | y, "bitwise_xor": x ^ y}
        return int_imm(lhs.dtype, found[name])
    return Call(lhs.dtype, Op.get(f"tir.{name}"), (lhs, rhs), span)


def bitwise_and(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """Return `x & y`."""
    return _bitwise("bitwise_and", x, y, span)


def bitwise_or(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """Return `x | y`."""
    return _bitwise("bitwise_or", x, y, span)


def bitwise_xor(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """Return `x ^ y`."""
    return _bitwise("bitwise_xor", x, y, span)


def bitwise_not(x: Any, span: Span | None = None) -> PrimExpr:
    """Return `~x`.

    Raises:
        BitsOfFloatError: The value is not an int.
    """
    expr = as_prim_expr(x)
    if not data_type(expr.dtype).is_integral:
        raise BitsOfFloatError(f"expected an int for bitwise_not, got {expr.dtype}")
    return Call(expr.dtype, Op.get("tir.bitwise_not"), (expr,), span)


def left_shift(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """Return `x << y`."""
    return _shifted("shift_left", x, y, span)


def right_shift(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """Return `x >> y`, keeping the sign."""
    return _shifted("shift_right", x, y, span)


def _shifted(name: str, x: Any, y: Any, span: Span | None) -> PrimExpr:
    lhs, rhs = _operands(name, x, y)
    if isinstance(rhs, IntImm) and lhs.dtype in INDEX:
        bits = data_type(lhs.dtype).bits
        if not 0 <= rhs.value < bits:
            raise _ShiftError(
                f"Shift amount must be non-negative and less than {bits} for type "
                f"{lhs.dtype}, got {rhs.value}"
            )
        if rhs.value == 0:
            return lhs
        if isinstance(lhs, IntImm):
            left = name == "shift_left"
            value = lhs.value << rhs.value if left else lhs.value >> rhs.value
            return int_imm(lhs.dtype, value)
    return Call(lhs.dtype, Op.get(f"tir.{name}"), (lhs, rhs), span)


class _ShiftError(IRError, ValueError):
    """A shift by more bits than there are, or by less than none."""
