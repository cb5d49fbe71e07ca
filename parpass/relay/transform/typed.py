"""Types for passes that need them, also where a pass is called by itself."""

from __future__ import annotations

from parpass.ir.module import IRModule
from parpass.relay.expr import Function
from parpass.relay.transform.infer_type import infer_type


def typed_function(func: Function, mod: IRModule) -> Function:
    """Return a function with types on all of its nodes, itself if it has them.

    A pipeline runs InferType before passes that require it; a direct call of a pass
    does not.

    Raises:
        DiagnosticError: The function is ill-typed.
    """
    return func if func.checked_type_ is not None else infer_type(func, mod)
