"""Conditions that are joined by `and`."""

from __future__ import annotations

from parpass.tir.binary_op import And
from parpass.tir.prim_expr import PrimExpr


def conjuncts(condition: PrimExpr) -> list[PrimExpr]:
    """Return the conditions of which one is made by `and`, in their order."""
    found, waiting = list[PrimExpr](), [condition]
    while waiting:
        one = waiting.pop()
        if isinstance(one, And):
            waiting += (one.b, one.a)
        else:
            found.append(one)
    return found
