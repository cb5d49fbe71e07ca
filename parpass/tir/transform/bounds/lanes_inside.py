"""Whether the elements that a load or a store is of are in the memory that there is."""

from __future__ import annotations

from parpass.tir.binary_op import LT
from parpass.tir.data_type import data_type
from parpass.tir.expr import Broadcast, Let, Load, Ramp, Shuffle, Var
from parpass.tir.op import (
    add,
    const,
    less,
    logical_and,
    logical_not,
    logical_or,
    multiply,
)
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt import Store


def is_inside(access: Load | Store, bound: PrimExpr) -> PrimExpr:
    """Return whether all elements that are accessed are in memory of `bound` elements.

    Of a ramp the first and the last one tell of those between them; of other vectors
    each lane is looked at, unless its predicate says that it is not accessed.
    """
    value = access if isinstance(access, Load) else access.value
    index, predicate = access.index, access.predicate
    lanes = data_type(value.dtype).lanes
    if lanes == 1:
        return _unless_not(predicate, _within(index, bound))
    if data_type(index.dtype).lanes == 1:  # of memory whose elements are vectors
        index = Ramp(multiply(index, const(lanes, index.dtype)), 1, lanes)
    accessed = [at for at in range(lanes) if not _never(_lane(predicate, at))]
    if isinstance(index, Ramp):
        if all(_holds(_lane(predicate, at)) for at in accessed):
            accessed = [*{*accessed[:1], *accessed[-1:]}]
        return _all_inside(index, predicate, sorted(accessed), bound)
    # By a name, as each lane is taken out of it.
    name = Var("indices", index.dtype)
    return Let(name, index, _all_inside(name, predicate, accessed, bound))


def _all_inside(
    index: PrimExpr, predicate: PrimExpr, accessed: list[int], bound: PrimExpr
) -> PrimExpr:
    found: PrimExpr = const(True, "bool")
    for at in accessed:
        inside = _unless_not(_lane(predicate, at), _within(_lane(index, at), bound))
        found = logical_and(found, inside)
    return found


def _within(index: PrimExpr, bound: PrimExpr) -> PrimExpr:
    not_before = logical_not(less(index, const(0, index.dtype)))
    return logical_and(not_before, less(index, bound))


def _unless_not(predicate: PrimExpr, inside: PrimExpr) -> PrimExpr:
    if predicate.dtype != "bool":
        predicate = predicate.astype("bool")
    return logical_or(logical_not(predicate), inside)


def _lane(expr: PrimExpr, at: int) -> PrimExpr:
    """Return a lane of a vector; of a scalar, which is for all lanes, that."""
    match expr:
        case Ramp():
            return add(expr.base, expr.stride * const(at, expr.stride.dtype))
        case Broadcast():
            return expr.value
        case LT():
            return less(_lane(expr.a, at), _lane(expr.b, at))
        case _ if data_type(expr.dtype).lanes == 1:
            return expr
        case _:
            return Shuffle((expr,), (const(at),))


def _holds(predicate: PrimExpr) -> bool:
    return isinstance(predicate, IntImm) and bool(predicate.value)


def _never(predicate: PrimExpr) -> bool:
    return isinstance(predicate, IntImm) and not predicate.value
