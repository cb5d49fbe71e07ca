"""The names in the RFC on porting passes: passes as plain functions.

`fold_constant(expr)` is the old call of a pass, and `function_pass(fold_constant,
opt_level=2)` makes a pass of it.
"""

from __future__ import annotations

from typing import TypeVar

from parpass.ir.module import IRModule
from parpass.relay.expr import Expr
from parpass.relay.transform import fold_constant as _fold_constant
from parpass.transform import PassContext, function_pass, module_pass

ExprT = TypeVar("ExprT", bound=Expr)


def fold_constant(
    expr: ExprT, mod: IRModule | None = None, ctx: PassContext | None = None
) -> ExprT:
    """Return an expression with constants folded; see FoldConstant."""
    del mod, ctx
    return _fold_constant.fold_constant(expr)


__all__ = ["fold_constant", "function_pass", "module_pass"]
