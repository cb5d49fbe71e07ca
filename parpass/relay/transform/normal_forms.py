"""ToANormalForm, ToBasicBlockNormalForm and ToGraphNormalForm.

In A-normal form every computed value has a name; in basic block normal form, every
value that several blocks use, outside of them; in graph form, none.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import contains
from typing import TypeVar, cast

from parpass.ir.module import IRModule
from parpass.relay.analysis.effects import Effects
from parpass.relay.expr import Expr, Function, Let, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.relay.transform.block_writer import rewrite_functions, written_in_blocks
from parpass.transform import (
    FunctionPass,
    ModulePass,
    PassContext,
    PassInfo,
    register_pass,
)

ExprT = TypeVar("ExprT", bound=Expr)


@register_pass("relay._transform.ToANormalForm")
@expects_single_bindings
class ToANormalForm(ModulePass):
    """Bind every value by a `let`, in evaluation order.

    ::

        def @main(%x: Tensor[(3,), float32], %c: bool) {
          %0 = exp(%x);
          if (%c) {
            add(%0, 1f)
          } else {
            %0
          }
        }

    becomes::

        def @main(%x: Tensor[(3,), float32], %c: bool) {
          let %x_1 = exp(%x);
          let %x_2 = if (%c) {
            let %x_3 = 1f;
            let %x_4 = add(%x_1, %x_3);
            %x_4
          } else {
            %x_1
          };
          %x_2
        }

    Constants and closures get a variable, too; variables, globals and operators do not.
    A value is bound in the innermost function body or branch that encloses all of its
    uses. If several of these use a value with an effect, that is an error diagnostic.
    Functions marked `Primitive` or `Compiler` stay unchanged.
    """

    pass_info = PassInfo(opt_level=1, name="ToANormalForm")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with each function in A-normal form."""
        return rewrite_functions(mod, to_a_normal_form, ctx)


def to_a_normal_form(expr: ExprT, mod: IRModule | None = None) -> ExprT:
    """Return an expression in A-normal form; see `ToANormalForm`.

    A function gives a function; what else is computed gives `let`s around its variable.

    Args:
        expr: The expression.
        mod: Has the global functions that it calls, to know which have effects.

    Raises:
        DiagnosticError: Several blocks use what has an effect; see `relay.op.effect`.
    """
    return cast("ExprT", written_in_blocks(expr, mod, lambda _crossing, _node: True))


ToANormalFormExpr = to_a_normal_form  # its name in TVM


@register_pass("relay._transform.ToBasicBlockNormalForm")
@expects_single_bindings
class ToBasicBlockNormalForm(ModulePass):
    """Bind values that cross basic blocks by a `let`.

    ::

        def @main(%x: Tensor[(3,), float32], %c: bool) {
          %0 = exp(%x);
          if (%c) {
            add(%0, 1f)
          } else {
            abs(%0)
          }
        }

    becomes::

        def @main(%x: Tensor[(3,), float32], %c: bool) {
          let %x_1 = exp(%x);
          if (%c) {
            add(%x_1, 1f)
          } else {
            abs(%x_1)
          }
        }

    A basic block is the body of a function or a branch of an `if`. Within a block the
    program stays a graph. Constants may be used in any block. Using a value with an
    effect in more than one block is an error diagnostic. A `let` inside an expression
    moves to the level of its block. Functions marked `Primitive` or `Compiler` stay
    unchanged.
    """

    pass_info = PassInfo(opt_level=1, name="ToBasicBlockNormalForm")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with each function in basic block normal form."""
        return rewrite_functions(mod, to_basic_block_normal_form, ctx)


def to_basic_block_normal_form(expr: ExprT, mod: IRModule | None = None) -> ExprT:
    """Return an expression in that form; see `ToBasicBlockNormalForm`.

    Args:
        expr: The expression.
        mod: Has the global functions that it calls, to know which have effects.

    Raises:
        DiagnosticError: Several blocks use what has an effect; see `relay.op.effect`.
    """
    return cast("ExprT", written_in_blocks(expr, mod, contains))


ToBasicBlockNormalFormExpr = to_basic_block_normal_form


@register_pass("relay._transform.ToGraphNormalForm")
@expects_single_bindings
class ToGraphNormalForm(FunctionPass):
    """Inline the value of each `let` where its variable is used.

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

    A value that is used several times is shared. The `let` stays for a closure that
    calls itself, which needs its name, and for a value with effects, which needs its
    place. A value that only closures use is computed in them, at each call.
    """

    pass_info = PassInfo(opt_level=1, name="ToGraphNormalForm")
    cacheable = True

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
