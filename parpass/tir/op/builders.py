"""Builders of binary nodes, which fold constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from parpass.tir import binary_op as kind
from parpass.tir.op import conditions, numeric
from parpass.tir.prim_expr import PrimExpr

Build = Callable[[Any, Any], PrimExpr]

OF_NUMBERS: Mapping[type[Any], Build] = {
    kind.Add: numeric.add,
    kind.Sub: numeric.subtract,
    kind.Mul: numeric.multiply,
    kind.Div: numeric.div,
    kind.Mod: numeric.truncmod,
    kind.FloorDiv: numeric.floordiv,
    kind.FloorMod: numeric.floormod,
    kind.Min: numeric.minimum,
    kind.Max: numeric.maximum,
    kind.EQ: conditions.equal,
    kind.NE: conditions.not_equal,
    kind.LT: conditions.less,
    kind.LE: conditions.less_equal,
    kind.GT: conditions.greater,
    kind.GE: conditions.greater_equal,
}
OF_CONDITIONS: Mapping[type[Any], Build] = {
    kind.And: conditions.logical_and,
    kind.Or: conditions.logical_or,
}
