"""The types of nodes that are being built, each from those of its children.

Converters of frontends and rules of passes have to know the type of a call that they
made long before there is a function to infer as a whole.
"""

from __future__ import annotations

from typing import cast

from parpass.errors import IRTypeError, SizeLimitError
from parpass.ir.node import children
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Expr, Var
from parpass.relay.type_inference.call_rules import type_of_call
from parpass.relay.type_inference.inference_state import InferenceState
from parpass.relay.type_inference.rules import RULES
from parpass.relay.type_inference.solver import TypeSolver


class BuiltTypes:
    """Gives types to nodes on typed ones, by inference's own rules; each once.

    Nothing changes in the nodes. Variables have types, their own or annotated ones;
    where something has none, or is ill-typed, what is built on it has none either.

    Attributes:
        known: The types that were found; callers may add types.
    """

    def __init__(self) -> None:
        self.known: dict[Expr, Type | None] = {}
        self._inference = InferenceState(TypeSolver())

    def get(self, expr: Expr) -> Type | None:
        """Return the type of an expression, None if it has none."""
        known = self.known
        if expr in known:
            return known[expr]
        waiting = [] if self._has_own(expr) else [expr]
        while waiting:
            node = waiting[-1]
            below = cast("tuple[Expr, ...]", children(node))
            missing = [
                child
                for child in below
                if child not in known and not self._has_own(child)
            ]
            waiting += missing
            if not missing:
                known[node] = self._type(node, [known[child] for child in below])
                waiting.pop()
        return known[expr]

    def _has_own(self, expr: Expr) -> bool:
        found: Type | None = getattr(expr, "checked_type_", None)
        if found is not None:
            self.known[expr] = found
        return found is not None

    def type_of(self, expr: Expr) -> Type:
        """Return the type of an expression.

        Raises:
            IRTypeError: It has none.
        """
        found = self.get(expr)
        if found is None:
            errors = self._inference.findings
            kind = type(expr).__name__
            message = f"expected types on all variables and globals of a {kind}"
            raise IRTypeError(errors[-1].message if errors else message)
        return found

    def tensor(self, expr: Expr) -> TensorType:
        """Return the type of an expression whose value is one tensor.

        Raises:
            IRTypeError: It has no type, or is no tensor.
        """
        found = self.type_of(expr)
        if not isinstance(found, TensorType):
            raise IRTypeError(f"expected a tensor, got {found}")
        return found

    def _type(self, node: Expr, types: list[Type | None]) -> Type | None:
        inference = self._inference
        kind = type(node)
        try:
            if isinstance(node, Call):
                found, _ = type_of_call(node, types, inference)
            elif isinstance(node, Var):
                found = node.type_annotation
            else:
                found = RULES[kind](node, types, inference) if kind in RULES else None
        except SizeLimitError as error:
            inference.error(node, str(error))
            return None
        return found and inference.show(found) if inference.solver.in_use else found
