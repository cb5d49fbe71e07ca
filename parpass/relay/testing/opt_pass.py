"""A pass run on one expression."""

from __future__ import annotations

from typing import cast, overload

from parpass.errors import ArgumentError
from parpass.ir.module import IRModule
from parpass.relay.expr import Expr, Function
from parpass.relay.prelude import Prelude
from parpass.relay.transform import InferType
from parpass.transform import Pass


@overload
def run_opt_pass(
    expr: Function, opt_pass: Pass, import_prelude: bool = False
) -> Function: ...
@overload
def run_opt_pass(expr: Expr, opt_pass: Pass, import_prelude: bool = False) -> Expr: ...
def run_opt_pass(expr: Expr, opt_pass: Pass, import_prelude: bool = False) -> Expr:
    """Return what a pass makes of an expression, whose types are inferred before.

    An expression that is no function becomes the body of one, over its free variables;
    what is returned is the body that comes out.

    Args:
        expr: The expression.
        opt_pass: The pass.
        import_prelude: Whether the expression is in a module with the prelude.

    Raises:
        ArgumentError: `opt_pass` is no pass.
    """
    if not isinstance(cast("object", opt_pass), Pass):
        raise ArgumentError(
            f"expected a pass to run, got {type(opt_pass).__name__}; a class is a pass "
            "when it is called, FoldConstant()"
        )
    mod = IRModule.from_expr(expr)
    if import_prelude:
        Prelude(mod)
    mod = opt_pass(InferType()(mod))
    entry = mod["main"]
    return entry if isinstance(expr, Function) else entry.body


@overload
def run_infer_type(expr: Function) -> Function: ...
@overload
def run_infer_type(expr: Expr) -> Expr: ...
def run_infer_type(expr: Expr) -> Expr:
    """Return an expression whose types are inferred."""
    return run_opt_pass(expr, InferType())
