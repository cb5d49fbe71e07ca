"""The types of the expressions that patterns are tried on."""

from __future__ import annotations

from typing import cast

from parpass.errors import DiagnosticError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.operators.op_table import Op
from parpass.ir.types.ty import Type
from parpass.relay.expr import Expr
from parpass.relay.typing.infer import infer_type


class ExprTypes:
    """Tells the types of expressions, inferred where InferType has not run.

    Args:
        mod: Has the functions that the expressions refer to.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self._mod = mod
        self._inferred: dict[Expr, Type | None] = {}
        self._roots: set[Expr] = set()

    def type_of(self, expr: Expr, root: Expr) -> Type | None:
        """Return the type of an expression, None if it cannot be found.

        Args:
            expr: The expression.
            root: What it is a part of; all of it is inferred at once.
        """
        known: Type | None = getattr(expr, "checked_type_", None)
        if known is not None or isinstance(expr, Op):
            return known
        if root not in self._roots:
            self._roots.add(root)
            self._infer_all(root)
        if expr not in self._inferred:
            typed = self._typed(expr)
            self._inferred[expr] = None if typed is None else typed.checked_type
        return self._inferred[expr]

    def _infer_all(self, root: Expr) -> None:
        typed = self._typed(root)
        before, after = post_order(root), [] if typed is None else post_order(typed)
        # Typed nodes are in the same order, unless two names of a global became one.
        if len(before) == len(after):
            for old, new in zip(before, after, strict=True):
                found: Type | None = getattr(new, "checked_type_", None)
                self._inferred[cast("Expr", old)] = found

    def _typed(self, expr: Expr) -> Expr | None:
        try:
            return infer_type(expr, self._mod)
        except DiagnosticError:
            return None
