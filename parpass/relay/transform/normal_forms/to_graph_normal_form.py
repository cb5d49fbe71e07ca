"""ToGraphNormalForm: no value has a name, they are used where they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from parpass.ir.module import IRModule
from parpass.relay.analysis.effects import Effects
from parpass.relay.expr import Expr, Function, Let, Var
from parpass.relay.functor import ExprMutator
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

ExprT = TypeVar("ExprT", bound=Expr)


@register_pass("relay._transform.ToGraphNormalForm")
class ToGraphNormalForm(FunctionPass):
    """Put the value of each `let` in the places where its variable is used.

    ::

        def @main(%x: Tensor[(3,), float32]) {
          let %a = exp(%x);
          let %b = add(%a, 1f);
          multiply(%b, %b)
        }

    becomes::

        def @main(%x: Tensor[(3,), float32]) {
          %0 = exp(%x);
          %1 = add(%0, 1f);
          multiply(%1, %1)
        }

    A value that is used several times is shared. A closure that calls itself needs its
    name, and a value with effects its place: these `let`s stay. A value that only
    closures use is computed by them, whenever they are called.
    """

    pass_info = PassInfo(opt_level=1, name="ToGraphNormalForm")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function as a graph."""
        writer = GraphWriter(mod)
        result = writer.visit(func)
        if writer.removed:
            ctx.count("removed", writer.removed)
        return result


def to_graph_normal_form(expr: ExprT, mod: IRModule | None = None) -> ExprT:
    """Return an expression as a graph; see `ToGraphNormalForm`.

    Args:
        expr: The expression.
        mod: Has the global functions that it calls, to know which have effects.
    """
    return cast("ExprT", GraphWriter(mod).visit(expr))


class GraphWriter(ExprMutator):
    """Replaces variables by the values that `let`s give them.

    Attributes:
        removed: How many `let`s are gone.
    """

    def __init__(self, mod: IRModule | None) -> None:
        super().__init__()
        self.removed = 0
        self._values: dict[Expr, Expr] = {}
        self._kept: set[Expr] = set()
        self._effects = Effects(self._values, mod)

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the value of a `let` and then its body, without the variable."""
        if not isinstance(expr, Let):
            return super().visited_before(expr)
        self._values[expr.var] = expr.value
        if not self._effects.is_pure(expr.value):
            self._kept.add(expr.var)
        return (expr.value, expr.body)

    def visit_var(self, var: Var) -> Expr:
        """Return the value of the variable, if it is to be used in its place."""
        value = self._values.get(var)
        if value is None or var in self._kept:
            return var
        if value not in self.memo_map:  # we are inside of it
            self._kept.add(var)
            return var
        return self.memo_map[value]

    def visit_let(self, let: Let) -> Expr:
        """Return the body; the `let` itself where the variable is still used."""
        if let.var not in self._kept:
            self.removed += 1
            return self.memo_map[let.body]
        value, body = self.memo_map[let.value], self.memo_map[let.body]
        if value is let.value and body is let.body:
            return let
        return Let(let.var, value, body, let.span)
