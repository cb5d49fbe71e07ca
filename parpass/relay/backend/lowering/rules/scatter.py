"""Operators that put elements into a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.relay.backend.lowering.template import (
    Indices,
    NoRuleError,
    Result,
    Source,
    register_injective,
)
from parpass.tir import op
from parpass.tir.expr import Select
from parpass.tir.prim_expr import PrimExpr


@register_injective("strided_set")
def _strided_set(
    _attrs: Any, sources: Sequence[Source], _out: Result, indices: Indices
) -> PrimExpr:
    data, value, begin, end, strides = sources
    if 0 in (*data.shape, *value.shape):
        raise NoRuleError("a range of no elements")
    if begin.shape != end.shape:
        raise NoRuleError("fewer bounds of one kind than of another")
    whole = zip(
        reversed(data.shape[begin.shape[0] :]), reversed(value.shape), strict=False
    )
    if len(value.shape) > len(data.shape) or any(b not in (1, a) for a, b in whole):
        raise NoRuleError("a value that does not fit")
    at = [op.cast_to(index, "int64") for index in indices]
    inside: list[PrimExpr] = []
    for axis in range(begin.shape[0]):
        first, last = (_bound(one, axis) for one in (begin, end))
        step: PrimExpr = op.const(1, "int64")
        if axis < strides.shape[0]:
            step = _bound(strides, axis)
        place, conditions = _in_slice(at[axis], first, last, step, data.shape[axis])
        at[axis] = place
        inside += conditions
    behind = at[len(at) - len(value.shape) :]
    # Where it is not inside the place is none of the value's, and is not looked at.
    places = [
        op.cast_to(op.maximum(op.minimum(one, dim - 1), 0), "int32")
        for one, dim in zip(behind, value.shape, strict=True)
    ]
    if not inside:
        return value.at(places)
    return op.if_then_else(op.all(*inside), value.at(places), data.at(indices))


def _bound(of: Source, axis: int) -> PrimExpr:
    return op.cast_to(of.at([op.const(axis, "int32")]), "int64")


def _in_slice(
    at: PrimExpr, begin: PrimExpr, end: PrimExpr, step: PrimExpr, dim: int
) -> tuple[PrimExpr, list[PrimExpr]]:
    """Return which element of a slice of Python's a place is, and what makes it one."""
    zero = op.const(0, "int64")
    forward = step > zero
    lowest = Select(forward, zero, op.const(-1, "int64"))
    highest = Select(forward, op.const(dim, "int64"), op.const(dim - 1, "int64"))
    first, last = (
        op.maximum(op.minimum(Select(one < zero, one + dim, one), highest), lowest)
        for one in (begin, end)
    )
    steps = Select(op.equal(step, zero), op.const(1, "int64"), step)
    off = op.subtract(at, first)
    within = Select(
        forward,
        op.logical_and(at >= first, at < last),
        op.logical_and(at <= first, at > last),
    )
    return op.floordiv(off, steps), [within, op.equal(op.floormod(off, steps), zero)]
