"""Passes may be called on a Relay expression: it is made a module, and taken out."""

from __future__ import annotations

from collections.abc import Callable

from parpass.ir.module import IRModule
from parpass.relay.expr import Expr, Function
from parpass.transform import register_wrapping


def _wrapped(expr: Expr) -> tuple[IRModule, Callable[[IRModule], Expr]]:
    mod = IRModule.from_expr(expr)
    [name] = mod.functions_by_name

    def unwrapped(result: IRModule) -> Expr:
        function = result[name]
        return function if isinstance(expr, Function) else function.body

    return mod, unwrapped


register_wrapping(Expr, _wrapped)
