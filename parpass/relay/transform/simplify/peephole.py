"""Rewriting calls by rules that look at a call and its arguments.

A rule is asked once the arguments are simplified, and its result is simplified again,
so each rule fires where it can in one sweep from the inputs to the results. A rule
keeps the type of the call, which is why the types of rewritten nodes are known; where
it would drop an effect, it does not apply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import structs

from parpass.errors import IRTypeError
from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order
from parpass.ir.op_table import Op
from parpass.ir.ty import TensorType, Type
from parpass.relay.analysis.effects import Effects
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.evaluation import Evaluator

Rule = Callable[["Peephole", Call], Expr | None]
"""Returns what a call becomes, None where the rule does not apply."""


class Peephole(ExprMutator):
    """Rewrites a typed function by rules.

    Args:
        rules: The rules for the calls of each operator, by name; those that come first
            are tried first.
        evaluator: Evaluates calls on constants for the rules.
        mod: Has the global functions that are called, to know which have effects.

    Attributes:
        applied: How many times a rule was.
    """

    def __init__(
        self,
        rules: Mapping[str, Sequence[Rule]],
        evaluator: Evaluator,
        mod: IRModule | None = None,
    ) -> None:
        super().__init__()
        self.applied = 0
        self.evaluator = evaluator
        self._rules = rules
        self._effects = Effects(mod=mod)
        self._types: dict[Expr, Type | None] = {}
        self._shared: set[Expr] = set()
        self._users: Counter[Expr] = Counter()

    def run(self, function: Function) -> Function:
        """Return the function rewritten."""
        for node in cast("list[Expr]", post_order(function)):
            self._users.update(children(node))
        return cast("Function", self.visit(function))

    def visit_default(self, expr: Expr) -> Expr:
        """Return a node with its children rewritten, a call as the rules want it."""
        new = super().visit_default(expr)
        if new is not expr:
            self._types[new] = getattr(expr, "checked_type_", None)
        if isinstance(new, Call):
            result = self._simplified(new)
            if result is not new:
                new = self._with_span(result, getattr(expr, "span", None))
        if self._users[expr] > 1:
            self._shared.add(new)
        return new

    def _simplified(self, call: Call) -> Expr:
        result: Expr = call
        while isinstance(result, Call) and isinstance(result.op, Op):
            for rule in self._rules.get(result.op.name, ()):
                better = rule(self, result)
                if better is not None and self._effects.survive(result, better):
                    self.applied += 1
                    result = better
                    break
            else:
                break
        return result

    def _with_span(self, expr: Expr, span: Any) -> Expr:
        if span is None or not isinstance(expr, Call) or expr.span is not None:
            return expr
        placed = structs.replace(expr, span=span)
        self._types[placed] = self.type_of(expr)
        return placed

    def type_of(self, expr: Expr) -> Type | None:
        """Return the type of a node of the function, or of one that was made."""
        if expr in self._types:
            return self._types[expr]
        return getattr(expr, "checked_type_", None)

    def tensor(self, expr: Expr) -> TensorType | None:
        """Return the type of an expression that is a tensor of a known shape."""
        found = self.type_of(expr)
        if not isinstance(found, TensorType):
            return None
        return found if all(isinstance(dim, int) for dim in found.shape) else None

    def is_shared(self, expr: Expr) -> bool:
        """Return whether more than one node of the function uses an expression."""
        return expr in self._shared

    def made(self, expr: Expr) -> Expr:
        """Return a call that a rule made, simplified, so that it may be an argument."""
        if not isinstance(expr, Call):
            return expr
        self._types[expr] = self._inferred(expr)
        return self._simplified(expr)

    def instead_of(self, call: Call, new: Expr) -> Expr | None:
        """Return what a rule makes of a call, None if its type is another."""
        if isinstance(new, Call) and new not in self._types:
            self._types[new] = self._inferred(new)
        return new if self.type_of(new) == self.type_of(call) else None

    def _inferred(self, call: Call) -> Type | None:
        types = [self.type_of(arg) for arg in call.args]
        if None in types:
            return None
        try:
            op = cast("Op", call.op)
            return op.relation(cast("list[Type]", types), call.attrs)
        except IRTypeError:
            return None


def call_of(expr: Expr, *names: str) -> Call | None:
    """Return an expression if it is a call of one of some operators, else None."""
    if isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in names:
        return expr
    return None
