"""The ends of dtypes, where the largest and the least of many begin; limits."""

from __future__ import annotations

import math

from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.expr import FloatImm, PrimExpr


def clamped(x: PrimExpr, low: PrimExpr, high: PrimExpr) -> PrimExpr:
    """Return the number nearest to `x` from `low` to `high`."""
    return op.minimum(op.maximum(x, low), high)


def lowest(dtype: str) -> PrimExpr:
    """Return what every number of a dtype is at least."""
    kind = data_type(dtype)
    return FloatImm(dtype, -math.inf) if kind.is_floating else op.min_value(dtype)


def highest(dtype: str) -> PrimExpr:
    """Return what every number of a dtype is at most."""
    kind = data_type(dtype)
    return FloatImm(dtype, math.inf) if kind.is_floating else op.max_value(dtype)
