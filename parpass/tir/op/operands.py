"""Operands: constants, casts, and the common dtype of several."""

from __future__ import annotations

import contextlib
import math
import sys
from typing import Any, cast

import numpy as np

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.op.op_table import Op
from parpass.tir.data_type import DataType, checked, data_type, int_range, wrapped
from parpass.tir.expr import (
    BinaryOpExpr,
    Broadcast,
    Call,
    Cast,
    CmpExpr,
    FloatImm,
    IntImm,
    LogicalExpr,
    PrimExpr,
    as_prim_expr,
)
from parpass.tir.expr.prim_expr import shared_int
from parpass.tir.op.const_fold import float_imm, fold, int_imm, rounded

__all__ = [
    "cast_to",
    "const",
    "infinity",
    "match_types",
    "max_value",
    "min_value",
    "reinterpret",
]

_EXACT = 1 << 53  # as far as doubles have all ints
_GREATEST = {
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
    "float32": float(np.finfo("float32").max),
    "float64": sys.float_info.max,
}


def max_value(dtype: str, span: Span | None = None) -> PrimExpr:
    """Return the largest value of a dtype; for floats, the largest finite one."""
    return _limit("max_value", dtype, span)


def min_value(dtype: str, span: Span | None = None) -> PrimExpr:
    """Return the smallest value of a dtype; for floats, the smallest finite one."""
    return _limit("min_value", dtype, span)


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


def const(value: Any, dtype: str | None = None, span: Span | None = None) -> PrimExpr:
    """Return a constant; without a dtype a bool, an int32 or a float32.

    A dtype with several lanes repeats the value in a vector. An int that the dtype
    cannot hold wraps as in a cast: `const(2, "bool")` is true.
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
        dtype, held = kind.element, _held(_whole(value, kind.element), kind)
        return shared_int(dtype, held) if span is None else IntImm(dtype, held, span)
    if kind.is_floating:
        return FloatImm(kind.element, value, span)
    if kind.code == "handle" and value == 0:
        return reinterpret("handle", IntImm("uint64", 0))
    raise IRTypeError(f"expected a dtype of numbers for {value}, got {kind.element}")


def _whole(value: Any, dtype: str) -> int:
    if not isinstance(value, str | bytes):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            return int(value)
    raise IRTypeError(f"expected a number for a constant of {dtype}, got {value!r:.40}")


def cast_to(value: Any, dtype: str, span: Span | None = None) -> PrimExpr:
    """Return an expression in another dtype; a scalar is repeated for a vector's.

    Raises:
        IRTypeError: There is no such cast.
    """
    dtype = checked(dtype)
    expr = _beside(value, dtype)
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


def _held(value: int, kind: DataType) -> int:
    """Return what an integral dtype holds of an int."""
    return int(value != 0) if kind.code == "bool" else wrapped(value, kind.element)


def _converted(imm: IntImm | FloatImm, dtype: str) -> PrimExpr:
    kind, value = data_type(dtype), imm.value
    if isinstance(value, float):
        value = rounded(value, imm.dtype)
    if kind.is_floating:
        if isinstance(value, int) and dtype != "float64" and abs(value) > _EXACT:
            return Cast(dtype, imm)  # by way of a double it would be rounded twice
        return float_imm(dtype, float(value))
    if kind.code == "bool":
        return shared_int("bool", int(value != 0))
    if not kind.is_integral:
        raise IRTypeError(f"Can't cast {imm.dtype} to {dtype}")
    if isinstance(value, int):
        return int_imm(dtype, value)
    if math.isnan(value):
        return int_imm(dtype, 0)
    least = 0 if kind.code == "uint" else -(1 << kind.bits - 1)
    most = least + (1 << kind.bits) - 1  # to which floats are limited by machine code
    return int_imm(dtype, int(max(least, min(value, most))))


def reinterpret(dtype: str, value: Any, span: Span | None = None) -> PrimExpr:
    """Return the bits of an expression as a value of another dtype."""
    expr = as_prim_expr(value)
    if expr.dtype == checked(dtype):
        return expr
    return Call(dtype, Op.get("tir.reinterpret"), (expr,), span)


def match_types(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Return two operands converted to a common dtype, if they differ.

    A scalar next to a vector is repeated. The wider float or int wins; a float wins
    over an int, and an unsigned int over a signed one of the same width. A Python float
    next to a float64 is one.

    Raises:
        IRTypeError: There is no common dtype.
    """
    lhs, rhs = as_prim_expr(a), as_prim_expr(b)
    if lhs.dtype == rhs.dtype:
        return lhs, rhs
    lhs, rhs = _beside(a, rhs.dtype), _beside(b, lhs.dtype)
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


def _beside(value: Any, dtype: str) -> PrimExpr:
    """Return a value as an expression, as exact as a dtype that it meets can hold it.

    A Python float is a float64, which as a float32 would be rounded.
    """
    if isinstance(value, float) and data_type(dtype).element == "float64":
        return FloatImm("float64", value)
    return as_prim_expr(value)


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


def binary(
    kind: type[BinaryOpExpr | CmpExpr | LogicalExpr],
    a: Any,
    b: Any,
    span: Span | None,
) -> PrimExpr:
    """Return a node of two operands of one dtype, or what constants fold it to."""
    lhs, rhs = match_types(a, b)
    found = fold(kind, lhs, rhs)
    return kind(lhs, rhs, span) if found is None else found


def two_ints(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Return two operands of an operator of ints; see `int_operand`."""
    return int_operand(name, a), int_operand(name, b)


def int_operand(name: str, value: Any) -> PrimExpr:
    """Return an operand of an operator of ints.

    Raises:
        IRTypeError: It is of another dtype.
    """
    expr = as_prim_expr(value)
    if not data_type(expr.dtype).is_integral:
        raise IRTypeError(f"expected ints for {name}, got {expr.dtype}")
    return expr
