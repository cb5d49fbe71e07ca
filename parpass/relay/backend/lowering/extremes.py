"""The larger and the lesser of numbers, as numpy has them: what is no number stays.

`tir.max` and `tir.min` are one comparison: where one operand is no number they give the
second.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.expr import Select
from parpass.tir.prim_expr import FloatImm, PrimExpr


def larger(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return the larger of two; no number if one is none."""
    return _extreme(op.maximum, a, b)


def lesser(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return the lesser of two; no number if one is none."""
    return _extreme(op.minimum, a, b)


def clamped(x: PrimExpr, low: PrimExpr, high: PrimExpr) -> PrimExpr:
    """Return the number nearest to `x` from `low` to `high`."""
    return lesser(larger(x, low), high)


def lowest(dtype: str) -> PrimExpr:
    """Return what every number of a dtype is at least."""
    kind = data_type(dtype)
    return FloatImm(dtype, -math.inf) if kind.is_floating else op.min_value(dtype)


def highest(dtype: str) -> PrimExpr:
    """Return what every number of a dtype is at most."""
    kind = data_type(dtype)
    return FloatImm(dtype, math.inf) if kind.is_floating else op.max_value(dtype)


def _extreme(
    choose: Callable[[Any, Any], PrimExpr], a: PrimExpr, b: PrimExpr
) -> PrimExpr:
    if not data_type(a.dtype).is_floating:
        return choose(a, b)
    if _is_number(b):
        return choose(b, a)
    if _is_number(a):
        return choose(a, b)
    return Select(op.isnan(a), a, choose(a, b))


def _is_number(expr: PrimExpr) -> bool:
    return isinstance(expr, FloatImm) and not math.isnan(expr.value)
