"""The types of nodes that are being built, each from those of its children.

Converters of frontends and rules of passes have to know the type of a call that they
made long before there is a function to infer as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from parpass.errors import IRTypeError, SizeLimitError
from parpass.relay.expr import Call, Expr, GlobalVar, Var
from parpass.relay.functor import ExprFunctor
from parpass.relay.node import children
from parpass.relay.op.registry import Op
from parpass.relay.ty import TensorType, Type
from parpass.relay.typing.inference import Inference
from parpass.relay.typing.rules import RULES, type_of_call
from parpass.relay.typing.solver import TypeSolver


class BuiltTypes(ExprFunctor[Type | None]):
    """Gives types to nodes on typed ones, by inference's own rules; each once.

    Nothing changes in the nodes. Variables have types, their own or annotated ones;
    where something has none, or is ill-typed, what is built on it has none either.
    """

    def __init__(self) -> None:
        super().__init__()
        self._inference = Inference(TypeSolver())

    def type_of(self, expr: Expr) -> Type:
        """Return the type of an expression.

        Raises:
            IRTypeError: It has none.
        """
        found = self.visit(expr)
        if found is None:
            errors = self._inference.findings
            kind = type(expr).__name__
            message = f"expected types on all variables and globals of a {kind}"
            raise IRTypeError(errors[-1].message if errors else message)
        return found

    def tensor(self, expr: Expr) -> TensorType:
        """Return the type of an expression whose value is one tensor.

        Raises:
            IRTypeError: It has no type, or another one.
        """
        found = self.type_of(expr)
        if not isinstance(found, TensorType):
            raise IRTypeError(f"expected a tensor, got {found}")
        return found

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the children of a node that is new."""
        return () if _own_type(expr) is not None else children(expr)

    def visit_default(self, expr: Expr) -> Type | None:
        """Return the type that a node has, or that its children give."""
        found = _own_type(expr)
        if found is not None or isinstance(expr, Op | GlobalVar | Var):
            return found
        types = [self.memo_map[child] for child in children(expr)]
        inference = self._inference
        try:
            if isinstance(expr, Call):
                found, _ = type_of_call(expr, types, inference)
            else:
                found = RULES[type(expr)](expr, types, inference)
        except SizeLimitError as error:
            inference.error(expr, str(error))
            return None
        return found and inference.show(found) if inference.solver.in_use else found


def _own_type(expr: Expr) -> Type | None:
    found: Type | None = getattr(expr, "checked_type_", None)
    return expr.type_annotation if found is None and isinstance(expr, Var) else found
