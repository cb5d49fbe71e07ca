"""The functions of a module in A-normal form, and the effects of parts of them."""

from __future__ import annotations

import contextlib
from typing import Any

from parpass.errors import DiagnosticError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.operators.effect import Effect
from parpass.relay.analysis.effects import Effects
from parpass.relay.expr import Expr, Function, Let
from parpass.relay.transform.normal_forms.block_writer import is_opaque
from parpass.relay.transform.normal_forms.to_a_normal_form import to_a_normal_form
from parpass.relay.typing.infer import typed_function


class NormalProgram:
    """Has each function of a module in A-normal form, with types, when it is needed."""

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self._values: dict[Expr, Expr] = {}
        self._effects = Effects(self._values, mod)
        self._normal: dict[str, Function | None] = {}

    def normal(self, name: str) -> Function:
        """Return a function in A-normal form.

        Raises:
            DiagnosticError: It is ill-typed, or shares effects between branches.
        """
        known = self._normal.get(name)
        if known is not None:
            return known
        typed = typed_function(self._mod[name], self._mod)
        normal = self._normal[name] = to_a_normal_form(typed, self._mod)
        for node in post_order(normal):
            if isinstance(node, Let):
                self._values[node.var] = node.value
        return normal

    def to_call(self, name: str) -> Function | None:
        """Return a function that may be evaluated in the place of its calls."""
        if name not in self._normal:
            self._normal[name] = None
            function: Any = self._mod[name]
            if isinstance(function, Function) and not is_opaque(function):
                # What is wrong is told where the function itself is evaluated.
                with contextlib.suppress(DiagnosticError):
                    self.normal(name)
        return self._normal[name]

    def writes(self, expr: Expr) -> bool:
        """Return whether others may see that a part of a function was evaluated."""
        return self._effects.of(expr) is Effect.WRITES
