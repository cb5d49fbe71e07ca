"""The least and the greatest values of dtypes."""

from __future__ import annotations

import math
import sys

import numpy as np

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.tir.data_type import checked, data_type, int_range
from parpass.tir.prim_expr import FloatImm, IntImm, PrimExpr

_GREATEST = {
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
    "float32": float(np.finfo("float32").max),
    "float64": sys.float_info.max,
}


def max_value(dtype: str, span: Span | None = None) -> PrimExpr:
    """Return the greatest value of a dtype; of floats, the greatest finite one."""
    return _limit("max_value", dtype, span)


def min_value(dtype: str, span: Span | None = None) -> PrimExpr:
    """Return the least value of a dtype; of floats, the least finite one."""
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
