"""Constants folded where expressions are built, by the rules of TVM's constructors.

Each rule is given operands of one dtype, and gives what takes the place of the node, or
None where there is no rule. What is computed is what would be computed at run time:
ints wrap around, floats are rounded to their dtype.

Rules on one constant, such as `x * 0`, are for ints. Of floats only those are here that
change no value that IEEE 754 defines, of NaN, infinities and signed zeros neither.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

from parpass.errors import IRError
from parpass.runtime import ieee754
from parpass.runtime.dtypes import computed_in
from parpass.tir.data_type import wrapped
from parpass.tir.expr import FloatImm, IntImm, PrimExpr, binary_op
from parpass.tir.expr.prim_expr import shared_int

Rule = Callable[[PrimExpr, PrimExpr], PrimExpr | None]
INDEX = ("int32", "int64")  # the dtypes of indices, which are folded the most
_CONSTANTS = {IntImm, FloatImm}


class DivisionByZeroError(IRError, ZeroDivisionError):
    """An expression of ints would be divided by the constant 0."""


def fold(kind: type[PrimExpr], a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """Return what a node of a kind comes to, if constants say so; None otherwise.

    Raises:
        DivisionByZeroError: The second operand of a division of ints is 0.
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
    if dtype == "bfloat16":
        return _as_bfloat(value)
    layout = _FORMATS.get(dtype)
    if layout is None:
        return value
    try:
        return struct.unpack(layout, struct.pack(layout, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _as_bfloat(value: float) -> float:
    """Return a float rounded to float32, and of that to the upper half of its bits."""
    single = rounded(value, "float32")
    if not math.isfinite(single):
        return single
    (bits,) = struct.unpack("<I", struct.pack("<f", single))
    upper = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", upper))[0]


def trunc_div(a: int, b: int) -> int:
    """Return `a / b` rounded towards zero."""
    return -(-a // b) if (a < 0) != (b < 0) else a // b


def trunc_mod(a: int, b: int) -> int:
    """Return what `trunc_div` leaves."""
    return a - b * trunc_div(a, b)


def _is(expr: PrimExpr, value: int) -> bool:
    return type(expr) is IntImm and expr.value == value


def _is_float(expr: PrimExpr, value: float) -> bool:
    return (
        type(expr) is FloatImm and rounded(expr.value, expr.dtype).hex() == value.hex()
    )


def _arithmetic(
    compute: Callable[[Any, Any], Any], a: PrimExpr, b: PrimExpr
) -> PrimExpr | None:
    kind = type(a)
    if kind not in _CONSTANTS or kind is not type(b):
        return None
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return int_imm(a.dtype, int(compute(a.value, b.value)))
    if isinstance(a, FloatImm) and isinstance(b, FloatImm):
        lhs, rhs = rounded(a.value, a.dtype), rounded(b.value, b.dtype)
        return float_imm(a.dtype, float(compute(lhs, rhs)))
    return None


def _add(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    found = _arithmetic(operator.add, a, b)
    if found is not None:
        return found
    if _is(a, 0) or _is_float(a, -0.0):
        return b
    return a if _is(b, 0) or _is_float(b, -0.0) else None


def _sub(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    found = _arithmetic(operator.sub, a, b)
    return a if found is None and (_is(b, 0) or _is_float(b, 0.0)) else found


def _mul(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    found = _arithmetic(operator.mul, a, b)
    if found is not None:
        return found
    if _is(a, 1) or _is_float(a, 1.0) or _is(b, 0):
        return b
    return a if _is(a, 0) or _is(b, 1) or _is_float(b, 1.0) else None


def _check_divisor(b: PrimExpr) -> None:
    if _is(b, 0):
        raise DivisionByZeroError(
            f"Divide by zero: the divisor is the constant 0 of {b.dtype}"
        )


def _divided(
    of_ints: Callable[[int, int], int], of_floats: Callable[[float, float, str], float]
) -> Rule:
    def rule(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
        _check_divisor(b)
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            return int_imm(a.dtype, of_ints(a.value, b.value))
        if isinstance(a, FloatImm) and isinstance(b, FloatImm):
            wide = computed_in(a.dtype)
            return _arithmetic(lambda x, y: of_floats(x, y, wide), a, b)
        return a if _is(a, 0) or _is(b, 1) else None

    return rule


def _quotient(a: float, b: float, dtype: str) -> float:
    if b:
        return rounded(a / b, dtype)
    if not a or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1, b)


_quotients = _divided(trunc_div, _quotient)


def _div(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    found = _quotients(a, b)
    return a if found is None and _is_float(b, 1.0) else found


def _floor_div(a: int, b: int) -> int:
    return a // b


def _floored(a: float, b: float, dtype: str) -> float:
    return rounded_by(math.floor, _quotient(a, b, dtype))


def rounded_by(to_int: Callable[[float], int], value: float) -> float:
    """Return a float as a function rounds it: a 0 with its sign, infinities, NaN."""
    if not math.isfinite(value):
        return value
    return math.copysign(to_int(value), value)


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


def _extreme(
    of_ints: Callable[[int, int], int], of_floats: Callable[[float, float], Any]
) -> Rule:
    def rule(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
        if a is b:
            return a
        compute = of_ints if isinstance(a, IntImm) else of_floats
        return _arithmetic(compute, a, b)

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
    binary_op.Div: _div,
    binary_op.Mod: _remainder(trunc_mod),
    binary_op.FloorDiv: _divided(_floor_div, _floored),
    binary_op.FloorMod: _remainder(operator.mod),
    binary_op.Min: _extreme(min, ieee754.minimum),
    binary_op.Max: _extreme(max, ieee754.maximum),
    binary_op.EQ: _compared(operator.eq),
    binary_op.NE: _compared(operator.ne),
    binary_op.LT: _compared(operator.lt),
    binary_op.LE: _compared(operator.le),
    binary_op.GT: _compared(operator.gt),
    binary_op.GE: _compared(operator.ge),
    binary_op.And: _and,
    binary_op.Or: _or,
}
