"""ToBasicBlockNormalForm: what several blocks use has a name outside of them."""

from __future__ import annotations

from operator import contains
from typing import TypeVar, cast

from parpass.ir.module import IRModule
from parpass.relay.expr import Expr
from parpass.relay.transform.normal_forms.block_writer import (
    rewrite_functions,
    written_in_blocks,
)
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass

ExprT = TypeVar("ExprT", bound=Expr)


@register_pass("relay._transform.ToBasicBlockNormalForm")
class ToBasicBlockNormalForm(ModulePass):
    """Bind by a `let` what passes from one basic block to another.

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
    program stays a graph; constants may be used in any block, and what has an effect in
    one only, or it is an error diagnostic. `let`s in the midst of
    an expression come to stand at the level of its block. Functions that are marked
    `Primitive` or `Compiler` stay as they are.
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
