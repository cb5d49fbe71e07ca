"""Constants of a dtype, and casts from one to another."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.operators.op_table import Op
from parpass.tir.const_fold import float_imm, int_imm
from parpass.tir.data_type import DataType, checked, data_type, wrapped
from parpass.tir.expr import Broadcast, Call, Cast
from parpass.tir.prim_expr import (
    FloatImm,
    IntImm,
    PrimExpr,
    as_prim_expr,
    shared_int,
)


def const(value: Any, dtype: str | None = None, span: Span | None = None) -> PrimExpr:
    """Return a constant; without a dtype a bool, an int32 or a float32.

    A dtype of several lanes makes a vector of the value. An int that the dtype does not
    have is what is left of it there, as after a cast: `const(2, "bool")` is true.
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
        dtype, held = kind.element, _held(int(value), kind)
        return shared_int(dtype, held) if span is None else IntImm(dtype, held, span)
    if kind.is_floating:
        return FloatImm(kind.element, float(value), span)
    if kind.code == "handle" and value == 0:
        return reinterpret("handle", IntImm("uint64", 0))
    raise IRTypeError(f"expected a dtype of numbers for {value}, got {kind.element}")


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


def _held(value: int, kind: DataType) -> int:
    """Return what an integral dtype holds of an int."""
    return int(value != 0) if kind.code == "bool" else wrapped(value, kind.element)


def _converted(imm: IntImm | FloatImm, dtype: str) -> PrimExpr:
    kind = data_type(dtype)
    if kind.is_floating:
        return float_imm(dtype, float(imm.value))
    if kind.code == "bool":
        return shared_int("bool", int(imm.value != 0))
    if not kind.is_integral:
        raise IRTypeError(f"Can't cast {imm.dtype} to {dtype}")
    if isinstance(imm, FloatImm) and not math.isfinite(imm.value):
        return Cast(dtype, imm)
    if isinstance(imm, FloatImm):  # as machine code has it, and not what is left of it
        least = 0 if kind.code == "uint" else -(1 << kind.bits - 1)
        most = least + (1 << kind.bits) - 1
        return int_imm(dtype, int(max(least, min(imm.value, most))))
    return int_imm(dtype, imm.value)


def reinterpret(dtype: str, value: Any, span: Span | None = None) -> PrimExpr:
    """Return the bits of an expression as a value of another dtype."""
    expr = as_prim_expr(value)
    if expr.dtype == checked(dtype):
        return expr
    return Call(dtype, Op.get("tir.reinterpret"), (expr,), span)
