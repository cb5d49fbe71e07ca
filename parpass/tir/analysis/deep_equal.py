"""Whether two expressions are equal."""

from __future__ import annotations

from typing import Any

from parpass.ir.structure.structural import structural_equal
from parpass.tir.prim_expr import as_prim_expr


def expr_deep_equal(lhs: Any, rhs: Any) -> bool:
    """Return whether two expressions compute the same of the same variables.

    A number is the constant that it makes in an expression.
    """
    return lhs is rhs or structural_equal(as_prim_expr(lhs), as_prim_expr(rhs))
