"""Operators on the bits of ints."""

from __future__ import annotations

from typing import Any

from parpass.diagnostic import Span
from parpass.errors import IRError, IRTypeError
from parpass.ir.operators.op_table import Op
from parpass.tir.const_fold import INDEX, int_imm
from parpass.tir.data_type import data_type, int_range
from parpass.tir.expr import Call
from parpass.tir.op.conversion import const
from parpass.tir.op.operands import match_types, two_ints
from parpass.tir.prim_expr import IntImm, PrimExpr, as_prim_expr


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
        BitsOfFloatError: It is no int.
    """
    expr = as_prim_expr(x)
    if not data_type(expr.dtype).is_integral:
        raise BitsOfFloatError(f"expected an int for bitwise_not, got {expr.dtype}")
    return Call(expr.dtype, Op.get("tir.bitwise_not"), (expr,), span)


def left_shift(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """Return `x << y`."""
    return _shifted("shift_left", x, y, span)


def right_shift(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """Return `x >> y`; the sign stays."""
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
