"""Constants folded where expressions are built, by the rules of TVM's constructors.

Each rule is given operands of one dtype, and gives what takes the place of the node, or
None where there is no rule. What is computed is what would be computed at run time:
ints wrap around, floats are rounded to their dtype.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable

from parpass.errors import IRError
from parpass.tir import binary_op
from parpass.tir.data_type import wrapped
from parpass.tir.prim_expr import FloatImm, IntImm, PrimExpr, shared_int

Rule = Callable[[PrimExpr, PrimExpr], PrimExpr | None]
INDEX = ("int32", "int64")  # the dtypes of indices, which are folded the most
_CONSTANTS = {IntImm, FloatImm}


class DivisionByZeroError(IRError, ZeroDivisionError):
    """An expression would be divided by the constant 0."""


def fold(kind: type[PrimExpr], a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """Return what a node of a kind comes to, if constants say so; None otherwise.

    Raises:
        DivisionByZeroError: The second operand of a division is 0.
    """
    return _RULES[kind](a, b)


def int_imm(dtype: str, value: int) -> IntImm:
    """Return an int as what is left of it in a dtype."""
    return shared_int(dtype, wrapped(value, dtype))


def float_imm(dtype: str, value: float) -> FloatImm:
    """Return a float as the nearest one that a dtype has."""
    return FloatImm(dtype, rounded(value, dtype))


_FORMATS = {"float16": "<e", "float32": "<f"}


def rounded(value: float, dtype: str) -> float:
    """Return the nearest float that a dtype has; infinity for what is too large."""
    layout = _FORMATS.get(dtype)
    if layout is None:
        return value
    try:
        return struct.unpack(layout, struct.pack(layout, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def trunc_div(a: int, b: int) -> int:
    """Return `a / b` rounded towards zero."""
    return -(-a // b) if (a < 0) != (b < 0) else a // b


def trunc_mod(a: int, b: int) -> int:
    """Return what `trunc_div` leaves."""
    return a - b * trunc_div(a, b)


def _is(expr: PrimExpr, value: int) -> bool:
    return type(expr) in _CONSTANTS and expr.value == value


def _arithmetic(
    compute: Callable[[float, float], float], a: PrimExpr, b: PrimExpr
) -> PrimExpr | None:
    kind = type(a)
    if kind not in _CONSTANTS or kind is not type(b):
        return None
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return int_imm(a.dtype, int(compute(a.value, b.value)))
    if isinstance(a, FloatImm) and isinstance(b, FloatImm):
        lhs, rhs = rounded(a.value, a.dtype), rounded(b.value, b.dtype)
        return float_imm(a.dtype, compute(lhs, rhs))
    return None


def _add(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    found = _arithmetic(operator.add, a, b)
    if found is not None:
        return found
    if _is(a, 0):
        return b
    return a if _is(b, 0) else None


def _sub(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    found = _arithmetic(operator.sub, a, b)
    return a if found is None and _is(b, 0) else found


def _mul(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    found = _arithmetic(operator.mul, a, b)
    if found is not None:
        return found
    if _is(a, 1) or _is(b, 0):
        return b
    return a if _is(a, 0) or _is(b, 1) else None


def _check_divisor(b: PrimExpr) -> None:
    if _is(b, 0):
        raise DivisionByZeroError(
            f"Divide by zero: the divisor is the constant 0 of {b.dtype}"
        )


def _divided(
    of_ints: Callable[[int, int], int], of_floats: Callable[[float, float], float]
) -> Rule:
    def rule(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
        _check_divisor(b)
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            return int_imm(a.dtype, of_ints(a.value, b.value))
        if isinstance(a, FloatImm) and isinstance(b, FloatImm):
            return _arithmetic(of_floats, a, b)
        return a if _is(a, 0) or _is(b, 1) else None

    return rule


def _quotient(a: float, b: float) -> float:
    return a / b


def _floor_div(a: int, b: int) -> int:
    return a // b


def _floored(a: float, b: float) -> float:
    quotient = a / b
    return math.floor(quotient) if math.isfinite(quotient) else quotient


def _remainder(of_ints: Callable[[int, int], int]) -> Rule:
    def rule(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
        if a.dtype not in INDEX:
            return None
        _check_divisor(b)
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            return int_imm(a.dtype, of_ints(a.value, b.value))
        if _is(a, 0):
            return a
        return shared_int(a.dtype, 0) if _is(b, 1) else None

    return rule


def _extreme(choose: Callable[[float, float], float]) -> Rule:
    def rule(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
        return a if a is b else _arithmetic(choose, a, b)

    return rule


def _compared(compare: Callable[[float, float], bool]) -> Rule:
    def rule(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            return shared_int("bool", int(compare(a.value, b.value)))
        if isinstance(a, FloatImm) and isinstance(b, FloatImm):
            lhs, rhs = rounded(a.value, a.dtype), rounded(b.value, b.dtype)
            return shared_int("bool", int(compare(lhs, rhs)))
        return None

    return rule


def _and(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    if isinstance(a, IntImm):
        return b if a.value else a
    if isinstance(b, IntImm):
        return a if b.value else b
    return None


def _or(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    if isinstance(a, IntImm):
        return a if a.value else b
    if isinstance(b, IntImm):
        return b if b.value else a
    return None


_RULES: dict[type[PrimExpr], Rule] = {
    binary_op.Add: _add,
    binary_op.Sub: _sub,
    binary_op.Mul: _mul,
    binary_op.Div: _divided(trunc_div, _quotient),
    binary_op.Mod: _remainder(trunc_mod),
    binary_op.FloorDiv: _divided(_floor_div, _floored),
    binary_op.FloorMod: _remainder(operator.mod),
    binary_op.Min: _extreme(min),
    binary_op.Max: _extreme(max),
    binary_op.EQ: _compared(operator.eq),
    binary_op.NE: _compared(operator.ne),
    binary_op.LT: _compared(operator.lt),
    binary_op.LE: _compared(operator.le),
    binary_op.GT: _compared(operator.gt),
    binary_op.GE: _compared(operator.ge),
    binary_op.And: _and,
    binary_op.Or: _or,
}
