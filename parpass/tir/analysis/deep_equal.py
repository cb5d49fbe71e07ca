"""Whether two expressions are equal."""

from __future__ import annotations

from parpass.ir.structure.structural import structural_equal
from parpass.tir.prim_expr import PrimExpr


def expr_deep_equal(lhs: PrimExpr, rhs: PrimExpr) -> bool:
    """Return whether two expressions compute the same of the same variables."""
    return lhs is rhs or structural_equal(lhs, rhs)
