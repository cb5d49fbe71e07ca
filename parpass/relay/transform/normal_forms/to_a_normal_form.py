"""ToANormalForm: every value that is computed has a name."""

from __future__ import annotations

from typing import TypeVar, cast

from parpass.ir.module import IRModule
from parpass.relay.expr import Expr
from parpass.relay.transform.normal_forms.block_writer import (
    rewrite_functions,
    written_in_blocks,
)
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass

ExprT = TypeVar("ExprT", bound=Expr)


@register_pass("relay._transform.ToANormalForm")
class ToANormalForm(ModulePass):
    """Bind every value by a `let`, in the order of evaluation.

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

    Constants and closures get a variable too; variables, globals and operators do not.
    A value is bound in the innermost function body or branch that encloses all of its
    uses; that several of them use what has an effect is an error diagnostic. Functions
    that are marked `Primitive` or `Compiler` stay as they are.
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
