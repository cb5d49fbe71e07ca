"""RewriteUnsafeSelect: what may fail is computed only where it is wanted."""

from __future__ import annotations

from parpass.ir.module import IRModule
from parpass.ir.node import Node, children
from parpass.ir.op.op_table import Op
from parpass.tir.analysis.function_contents import contents
from parpass.tir.expr import BufferLoad, Call, CallEffectKind, Load, Select, Shuffle
from parpass.tir.expr_functor import ExprFunctor
from parpass.tir.function import PrimFunc
from parpass.tir.op.builtin import call_effect
from parpass.tir.stmt import Stmt
from parpass.tir.stmt_expr_functor import StmtExprMutator
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass

_IF_THEN_ELSE = Op.get("tir.if_then_else")
_ADDRESS_OF = Op.get("tir.address_of")


@register_pass("tir.transform.RewriteUnsafeSelect")
class RewriteUnsafeSelect(PrimFuncPass):
    """Replace a `Select` with an unsafe side by `if_then_else`.

    ::

        B[i] = select(i >= 1, A[i - 1], 0)

    becomes::

        B[i] = if_then_else(i >= 1, A[i - 1], 0)

    A side is unsafe if it contains a load, or a call that does more than compute. If
    the condition is a vector, the `Select` stays: `if_then_else` takes scalars.
    """

    pass_info = PassInfo(0, "tir.RewriteUnsafeSelect")
    cacheable = True

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function with safe selections."""
        if Select not in ctx.get_analysis(contents, func).kinds:
            return func
        body = UnsafeSelectRewriter().visit(func.body)
        assert isinstance(body, Stmt)
        return func.with_body(body)


class UnsafeSelectRewriter(StmtExprMutator):
    """Rewrites selections, the inner ones first."""

    def __init__(self) -> None:
        super().__init__()
        self._unsafe = UnsafeExprDetector()

    def visit_select_(self, op: Select) -> Node:
        """Rewrite one, unless both values are safe."""
        new = self.visit_default(op)
        assert isinstance(new, Select)
        sides = (new.true_value, new.false_value)
        if new.condition.dtype != "bool" or not any(map(self._unsafe.visit, sides)):
            return new
        return Call(new.dtype, _IF_THEN_ELSE, (new.condition, *sides))


class UnsafeExprDetector(ExprFunctor[bool]):
    """Tells whether an expression may fail where its value is not wanted."""

    def visit_default(self, expr: Node) -> bool:
        """Look whether a child may."""
        return any(map(self.visit, children(expr)))

    def visit_leaf(self, leaf: Node) -> bool:
        """Buffers are looked at where they are read."""
        return False

    def visit_load_(self, op: Load) -> bool:
        """A load is out of bounds, perhaps."""
        return True

    def visit_buffer_load_(self, op: BufferLoad) -> bool:
        """A load is out of bounds, perhaps."""
        return True

    def visit_select_(self, op: Select) -> bool:
        """A selection guards its sides, once it is rewritten."""
        return self.visit(op.condition)

    def visit_shuffle_(self, op: Shuffle) -> bool:
        """The lanes that are taken are constants."""
        return any(map(self.visit, op.vectors))

    def visit_call_(self, op: Call) -> bool:
        """A call is safe if it computes, of what is safe."""
        if op.op is _IF_THEN_ELSE:
            return self.visit(op.args[0])
        if op.op is _ADDRESS_OF:
            return self.visit(op.args[0].index)
        is_known = isinstance(op.op, Op)
        if not is_known or call_effect(op.op) > CallEffectKind.Pure:
            return True
        return any(map(self.visit, op.args))
