"""Between which constants an expression is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.ir.op.op_table import Op
from parpass.tir.arith import interval
from parpass.tir.arith.expr_table import BottomUp, ExprTable
from parpass.tir.arith.facts import Facts
from parpass.tir.arith.interval import EVERYTHING, TRUTH, Interval, of_dtype
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    Broadcast,
    Call,
    Cast,
    IntImm,
    Not,
    PrimExpr,
    Ramp,
    Select,
    SizeVar,
    Var,
    binary_op,
)


class Bounds(BottomUp[Interval]):
    """Finds intervals, from those of variables and by interval arithmetic.

    Indices are taken not to overflow, and casts to keep what is cast.
    """

    def __init__(self, table: ExprTable, facts: Facts) -> None:
        super().__init__(table)
        self._facts, self._told = facts.bounds, facts.variables

    def unknown(self, expr: Any) -> Interval:
        """Return what the dtype has."""
        if isinstance(expr, Var) and expr in self._told:
            return self._told[expr]
        if isinstance(expr, SizeVar):
            return Interval.at_least(0)
        return of_dtype(expr.dtype) if isinstance(expr, PrimExpr) else EVERYTHING

    def narrowed(self, expr: Any, value: Interval) -> Interval:
        """Return the part of an interval that the facts allow."""
        known = self._facts.get(expr)
        return value if known is None else known & value


def _constant(_: Bounds, node: IntImm) -> Interval:
    return interval.clipped(node.value, node.value)


def _cast(_: Bounds, node: Cast, value: Interval) -> Interval:
    if not data_type(node.dtype).is_integral:
        return value
    return of_dtype(node.dtype) & value


def _select(_bounds: Bounds, _node: Select, *values: Interval) -> Interval:
    return values[1] | values[2]


def _ramp(_: Bounds, node: Ramp, base: Interval, stride: Interval) -> Interval:
    steps = Interval(0, node.lanes - 1)
    return interval.add(base, interval.multiply(stride, steps))


def _call(_: Bounds, node: Call, _op: Interval, *args: Interval) -> Interval:
    name = node.op.name if isinstance(node.op, Op) else ""
    if name == "tir.if_then_else":
        return args[1] | args[2]
    if name == "tir.likely":
        return args[0]
    compute = _OPERATORS.get(name)
    found = EVERYTHING if compute is None else compute(*args)
    return of_dtype(node.dtype) & found


def _of(compute: Callable[..., Interval]) -> Callable[..., Interval]:
    def rule(bounds: Bounds, node: Any, *values: Interval) -> Interval:
        del bounds, node
        return compute(*values)

    return rule


def _least(a: Interval, b: Interval) -> Interval:
    return Interval(min(a.low, b.low), min(a.high, b.high))


def _greatest(a: Interval, b: Interval) -> Interval:
    return Interval(max(a.low, b.low), max(a.high, b.high))


def _truth(*_: Interval) -> Interval:
    return TRUTH


def _itself(value: Interval) -> Interval:
    return value


_OPERATORS: dict[str, Callable[..., Interval]] = {
    "tir.shift_right": interval.shift_right,
    "tir.bitwise_and": interval.bitwise_and,
}

Bounds.rules = {
    IntImm: _constant,
    Cast: _cast,
    binary_op.Add: _of(interval.add),
    binary_op.Sub: _of(interval.subtract),
    binary_op.Mul: _of(interval.multiply),
    binary_op.Div: _of(interval.trunc_divide),
    binary_op.Mod: _of(interval.trunc_remainder),
    binary_op.FloorDiv: _of(interval.floor_divide),
    binary_op.FloorMod: _of(interval.floor_remainder),
    binary_op.Min: _of(_least),
    binary_op.Max: _of(_greatest),
    Select: _select,
    Ramp: _ramp,
    Broadcast: _of(_itself),
    Call: _call,
    **dict.fromkeys(
        (*binary_op.COMPARISONS, binary_op.And, binary_op.Or, Not), _of(_truth)
    ),
}
