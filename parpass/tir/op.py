"""Functions that build loop expressions, under TVM's names.

Unlike the constructors of nodes they bring their operands to one dtype, and fold
constants: `floordiv(x, 1)` is `x`.
"""

from __future__ import annotations

import math
import sys
from typing import Any, cast

import numpy as np

from parpass.diagnostic import Span
from parpass.errors import IRError, IRTypeError
from parpass.ir.op_table import Op
from parpass.tir.binary_op import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOpExpr,
    CmpExpr,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Or,
    Sub,
    check_bool,
)
from parpass.tir.const_fold import INDEX, float_imm, fold, int_imm
from parpass.tir.data_type import DataType, checked, data_type, int_range
from parpass.tir.expr import Broadcast, Call, Cast, Not, Select
from parpass.tir.prim_expr import FloatImm, IntImm, PrimExpr, as_prim_expr

_BFLOAT16_MAX = float.fromhex("0x1.fep127")


class AmbiguousDivisionError(IRTypeError, RuntimeError):
    """Ints were divided by `/`, which may mean several things."""


def const(value: Any, dtype: str | None = None, span: Span | None = None) -> PrimExpr:
    """Return a constant; without a dtype a bool, an int32 or a float32.

    A dtype of several lanes makes a vector of the value.
    """
    if dtype is None:
        if isinstance(value, np.generic):
            dtype = cast("np.generic[Any]", value).dtype.name
        else:
            return as_prim_expr(value)
    kind = data_type(checked(dtype))
    if isinstance(value, IntImm | FloatImm):
        value = value.value
    one = _scalar(value, kind, span)
    return one if kind.lanes == 1 else Broadcast(one, kind.lanes, span)


def _scalar(value: Any, kind: DataType, span: Span | None) -> PrimExpr:
    if kind.is_integral:
        return IntImm(kind.element, int(value), span)
    if kind.is_floating:
        return FloatImm(kind.element, float(value), span)
    if kind.code == "handle" and value == 0:
        return reinterpret("handle", IntImm("uint64", 0))
    raise IRTypeError(f"expected a dtype of numbers for {value}, got {kind.element}")


def match_types(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Return two operands in one dtype, which is cast to where they differ.

    A scalar beside a vector is repeated. Of floats the wider counts, as of ints; a
    float counts beside an int, and of an int and an unsigned one of one width the
    unsigned one.

    Raises:
        IRTypeError: There is no such dtype.
    """
    lhs, rhs = as_prim_expr(a), as_prim_expr(b)
    if lhs.dtype == rhs.dtype:
        return lhs, rhs
    left, right = data_type(lhs.dtype), data_type(rhs.dtype)
    if left.lanes == 1 and right.lanes != 1:
        lhs = Broadcast(lhs, right.lanes)
    elif right.lanes == 1 and left.lanes != 1:
        rhs = Broadcast(rhs, left.lanes)
    elif left.lanes != right.lanes:
        raise _unmatched(lhs, rhs)
    if lhs.dtype == rhs.dtype:
        return lhs, rhs
    if _is_cast(left, right, lhs, rhs):
        return cast_to(lhs, rhs.dtype), rhs
    return lhs, cast_to(rhs, lhs.dtype)


def _is_cast(left: DataType, right: DataType, lhs: PrimExpr, rhs: PrimExpr) -> bool:
    """Return whether the left operand is the one that is cast."""
    kinds = {"bool": "uint"}
    mine, theirs = (kinds.get(one.code, one.code) for one in (left, right))
    if {mine, theirs} - {"int", "uint", "float", "bfloat"}:
        raise _unmatched(lhs, rhs)
    if left.is_floating != right.is_floating:
        return right.is_floating
    if left.bits != right.bits:
        return left.bits < right.bits
    return theirs in ("uint", "float") and mine != theirs


def _unmatched(lhs: PrimExpr, rhs: PrimExpr) -> IRTypeError:
    return IRTypeError(
        f"Cannot match type {lhs.dtype} vs {rhs.dtype}: expected operands of one "
        "dtype, or of ones that can be cast to each other"
    )


def cast_to(value: Any, dtype: str, span: Span | None = None) -> PrimExpr:
    """Return an expression in another dtype; a scalar is repeated for a vector's.

    Raises:
        IRTypeError: There is no such cast.
    """
    expr, dtype = as_prim_expr(value), checked(dtype)
    if expr.dtype == dtype:
        return expr
    to, of = data_type(dtype), data_type(expr.dtype)
    if to.lanes not in (1, of.lanes) and of.lanes == 1:
        return Broadcast(cast_to(expr, to.element, span), to.lanes, span)
    if to.lanes == 1 and isinstance(expr, IntImm | FloatImm):
        return _converted(expr, dtype)
    if "handle" in (to.code, of.code) or "void" in (to.code, of.code):
        raise IRTypeError(f"Can't cast {expr.dtype} to {dtype}")
    return Cast(dtype, expr, span)


def _converted(imm: IntImm | FloatImm, dtype: str) -> PrimExpr:
    kind = data_type(dtype)
    if kind.is_floating:
        return float_imm(dtype, float(imm.value))
    if kind.code == "bool":
        return IntImm("bool", int(imm.value != 0))
    if not kind.is_integral:
        raise IRTypeError(f"Can't cast {imm.dtype} to {dtype}")
    if isinstance(imm, FloatImm) and not math.isfinite(imm.value):
        return Cast(dtype, imm)
    return int_imm(dtype, int(imm.value))


def reinterpret(dtype: str, value: Any, span: Span | None = None) -> PrimExpr:
    """Return the bits of an expression as a value of another dtype."""
    expr = as_prim_expr(value)
    if expr.dtype == checked(dtype):
        return expr
    return Call(dtype, Op.get("tir.reinterpret"), (expr,), span)


def _binary(
    kind: type[BinaryOpExpr | CmpExpr], a: Any, b: Any, span: Span | None
) -> PrimExpr:
    lhs, rhs = match_types(a, b)
    found = fold(kind, lhs, rhs)
    return kind(lhs, rhs, span) if found is None else found


def add(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """Return `lhs + rhs`."""
    return _binary(Add, lhs, rhs, span)


def subtract(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """Return `lhs - rhs`."""
    return _binary(Sub, lhs, rhs, span)


def multiply(lhs: Any, rhs: Any, span: Span | None = None) -> PrimExpr:
    """Return `lhs * rhs`."""
    return _binary(Mul, lhs, rhs, span)


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
    return _binary(Div, a, b, span)


def truncdiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a / b` of ints, rounded towards zero."""
    return div(*_two_ints("truncdiv", a, b), span)


def truncmod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return what `truncdiv` leaves."""
    return _binary(Mod, a, b, span)


def floordiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a / b` of ints, rounded down."""
    return _binary(FloorDiv, *_two_ints("floordiv", a, b), span)


def floormod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return what `floordiv` leaves."""
    return _binary(FloorMod, *_two_ints("floormod", a, b), span)


def indexdiv(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a / b` of indices, which are not negative."""
    return floordiv(a, b, span)


def indexmod(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return what `indexdiv` leaves."""
    return floormod(a, b, span)


def _two_ints(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    return _int(name, a), _int(name, b)


def _int(name: str, value: Any) -> PrimExpr:
    expr = as_prim_expr(value)
    if not data_type(expr.dtype).is_integral:
        raise IRTypeError(f"expected ints for {name}, got {expr.dtype}")
    return expr


def minimum(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return the lesser of two."""
    return _binary(Min, a, b, span)


def maximum(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return the greater of two."""
    return _binary(Max, a, b, span)


def equal(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a == b` as an expression."""
    return _binary(EQ, a, b, span)


def not_equal(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a != b` as an expression."""
    return _binary(NE, a, b, span)


def less(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a < b`."""
    return _binary(LT, a, b, span)


def less_equal(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a <= b`."""
    return _binary(LE, a, b, span)


def greater(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a > b`."""
    return _binary(GT, a, b, span)


def greater_equal(a: Any, b: Any, span: Span | None = None) -> PrimExpr:
    """Return `a >= b`."""
    return _binary(GE, a, b, span)


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
    lhs, rhs = match_types(lhs, rhs)
    found = fold(kind, lhs, rhs)
    return kind(lhs, rhs, span) if found is None else found


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


def _bitwise(name: str, a: Any, b: Any, span: Span | None) -> PrimExpr:
    lhs, rhs = match_types(*_two_ints(name, a, b))
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
    """Return `~x`."""
    expr = _int("bitwise_not", x)
    return Call(expr.dtype, Op.get("tir.bitwise_not"), (expr,), span)


def left_shift(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """Return `x << y`."""
    return _shifted("shift_left", x, y, span)


def right_shift(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """Return `x >> y`; the sign stays."""
    return _shifted("shift_right", x, y, span)


def _shifted(name: str, x: Any, y: Any, span: Span | None) -> PrimExpr:
    lhs, rhs = match_types(*_two_ints(name, x, y))
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


def if_then_else(cond: Any, t: Any, f: Any, span: Span | None = None) -> PrimExpr:
    """Return one of two values, of which the other one is not evaluated."""
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
    """Return a condition that mostly holds, marked as such."""
    condition = as_prim_expr(cond)
    if isinstance(condition, IntImm):
        return condition
    return Call(condition.dtype, Op.get("tir.likely"), (condition,), span)


def ret(val: Any, span: Span | None = None) -> PrimExpr:
    """Return what, evaluated, ends the function with a value."""
    value = as_prim_expr(val)
    return Call(value.dtype, Op.get("tir.ret"), (value,), span)


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


def max_value(dtype: str, span: Span | None = None) -> PrimExpr:
    """Return the greatest value of a dtype; of floats, the greatest finite one."""
    return _limit("max_value", dtype, span)


def min_value(dtype: str, span: Span | None = None) -> PrimExpr:
    """Return the least value of a dtype; of floats, the least finite one."""
    return _limit("min_value", dtype, span)


_GREATEST = {
    "float16": 65504.0,
    "bfloat16": _BFLOAT16_MAX,
    "float32": float(np.finfo("float32").max),
    "float64": sys.float_info.max,
}


def _limit(name: str, dtype: str, span: Span | None) -> PrimExpr:
    dtype = checked(dtype)
    kind, is_max = data_type(dtype), name == "max_value"
    if kind.lanes == 1 and kind.is_integral:
        values = int_range(dtype)
        return IntImm(dtype, values.stop - 1 if is_max else values.start, span)
    if dtype not in _GREATEST:
        raise IRTypeError(f"Cannot decide {name} for type {dtype}")
    return FloatImm(dtype, _GREATEST[dtype] * (1 if is_max else -1), span)


def infinity(dtype: str, span: Span | None = None) -> PrimExpr:
    """Return the positive infinity of a dtype of floats."""
    if checked(dtype) not in _GREATEST:
        raise IRTypeError(f"Cannot decide infinity for type {dtype}")
    return FloatImm(dtype, math.inf, span)
