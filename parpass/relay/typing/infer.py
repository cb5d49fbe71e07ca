"""Types on what has none yet: an expression, or a function that a pass is called on."""

from __future__ import annotations

from typing import TypeVar, cast

from parpass.ir.module import IRModule
from parpass.relay.analysis.findings import Finding, raise_errors
from parpass.relay.expr import Expr, Function
from parpass.relay.typing.global_types import GlobalTypes
from parpass.relay.typing.inferencer import TypeInferencer

ExprT = TypeVar("ExprT", bound=Expr)


def infer_type(expr: ExprT, mod: IRModule | None = None) -> ExprT:
    """Return an expression with types on all of its nodes.

    Args:
        expr: The expression; its free variables must be annotated.
        mod: Has the functions that the expression refers to.

    Raises:
        DiagnosticError: The expression is ill-typed; it holds all that was found.
    """
    inferencer = TypeInferencer(GlobalTypes(mod))
    typed = inferencer.visit(expr)
    inferencer.inference.report_unknown()
    scopes = inferencer.scoping.findings(expr)
    raise_errors([*scopes, *inferencer.inference.findings])
    raise_errors(
        [
            Finding(
                getattr(user, "span", None),
                f"expected a well-typed function, got '{name}', which has errors",
            )
            for name, user in inferencer.uses.ill_typed.items()
        ]
    )
    inferencer.complete()
    return cast("ExprT", typed)


def typed_function(func: Function, mod: IRModule) -> Function:
    """Return a function with types on all of its nodes, itself if it has them.

    A pipeline runs InferType before passes that require it; a direct call of a pass
    does not.

    Raises:
        DiagnosticError: The function is ill-typed.
    """
    return func if func.checked_type_ is not None else infer_type(func, mod)
