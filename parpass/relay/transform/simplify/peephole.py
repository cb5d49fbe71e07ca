"""Rewriting calls by rules that look at a call and its arguments.

A rule is asked once the arguments are simplified, and its result is simplified again,
so each rule fires where it can in one sweep from the inputs to the results. A rule
keeps the type of the call, which is why the types of rewritten nodes are known; where
it would drop an effect, it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from parpass.ir.module import IRModule
from parpass.ir.node import post_order, users_of
from parpass.ir.op.op_table import Op
from parpass.ir.types import TensorType, Type
from parpass.relay.analysis.effects import Effects
from parpass.relay.analysis.matchers import static_tensor
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.functor import ExprMutator
from parpass.relay.span_filler import with_span_of
from parpass.relay.transform.evaluator import Evaluator
from parpass.relay.type_inference.built import BuiltTypes

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
        self._types = BuiltTypes()
        self._shared: set[Expr] = set()
        self._users: Mapping[Expr, Sequence[Expr]] = {}

    def run(self, function: Function) -> Function:
        """Return the function rewritten."""
        self._users = users_of(cast("list[Expr]", post_order(function)))
        return self.visit(function)

    def visit_default(self, expr: Expr) -> Expr:
        """Return a node with its children rewritten, a call as the rules want it."""
        new = super().visit_default(expr)
        if new is not expr:
            self._types.known[new] = getattr(expr, "checked_type_", None)
        if isinstance(new, Call):
            result = self._simplified(new)
            if result is not new:
                new = with_span_of(expr, result)
        if len(self._users.get(expr, ())) > 1:
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

    def type_of(self, expr: Expr) -> Type | None:
        """Return the type of a node of the function, or of one that was made."""
        return self._types.get(expr)

    def tensor(self, expr: Expr) -> TensorType | None:
        """Return the type of an expression that is a tensor of a known shape."""
        return static_tensor(self.type_of(expr))

    def is_shared(self, expr: Expr) -> bool:
        """Return whether more than one node of the function uses an expression."""
        return expr in self._shared

    def made(self, expr: Expr) -> Expr:
        """Return a call that a rule made, simplified, so that it may be an argument."""
        return self._simplified(expr) if isinstance(expr, Call) else expr

    def instead_of(self, call: Call, new: Expr) -> Expr | None:
        """Return what a rule makes of a call, None if its type is another."""
        return new if self.type_of(new) == self.type_of(call) else None
