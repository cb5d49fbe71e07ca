"""InlinePrimitives: fused functions stand where they are called."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Let, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.dead_code_elimination import eliminate_dead_code
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.InlinePrimitives")
class InlinePrimitives(FunctionPass):
    """Call fused functions, and global ones, by themselves instead of by variables.

    ::

        def @main(%x: Tensor[(3,), float32]) {
          let %f = fn (%p: Tensor[(3,), float32], Primitive=1) {
            exp(%p)
          };
          let %y = %f(%x);
          %y
        }

    becomes::

        def @main(%x: Tensor[(3,), float32]) -> Tensor[(3,), float32] {
          %0 = fn (%p: Tensor[(3,), float32], Primitive=1) -> Tensor[(3,), float32] {
            exp(%p)
          };
          let %y = %0(%x);
          %y
        }

    It takes back what ToANormalForm does to fused functions, so that what generates
    code finds them at the calls. What no call needs any more is dropped, as by
    DeadCodeElimination. A function that is called twice is written once, and shared.
    """

    pass_info = PassInfo(1, "InlinePrimitives")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with primitives at their calls."""
        inliner = _PrimitiveInliner(func)
        inlined = inliner.visit(func)
        if inliner.inlined:
            ctx.count("inlined", inliner.inlined)
        return eliminate_dead_code(inlined, mod)


class _PrimitiveInliner(ExprMutator):
    """Replaces variables that are called; counts how many were `inlined`."""

    def __init__(self, root: Function) -> None:
        super().__init__()
        self.inlined = 0
        self._values = {
            node.var: node.value for node in post_order(root) if isinstance(node, Let)
        }

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the children of an expression, but not what is in a primitive."""
        if isinstance(expr, Function):
            return () if _is_primitive(expr) else children(expr)
        return super().visited_before(expr)

    def visit_function(self, fn: Function) -> Expr:
        """Leave a primitive function alone."""
        return fn if _is_primitive(fn) else super().visit_function(fn)

    def visit_call(self, call: Call) -> Expr:
        """Return a call of what the variable stands for."""
        new: Call = super().visit_call(call)
        callee = self._value(call.op)
        if callee is call.op or not (
            isinstance(callee, GlobalVar) or _is_primitive(callee)
        ):
            return new
        self.inlined += 1
        return Call(callee, new.args, new.attrs, new.type_args, new.span)

    def _value(self, callee: Expr) -> Expr:
        """Return what a variable is bound to, by way of others."""
        seen: set[Expr] = set()
        while isinstance(callee, Var) and callee not in seen:
            seen.add(callee)
            callee = self._values.get(callee, callee)
        return callee


def _is_primitive(expr: Expr) -> bool:
    return isinstance(expr, Function) and expr.has_nonzero_attr("Primitive")
