"""DefuseOps: what FuseOps put into functions is taken out again."""

from __future__ import annotations

from typing import TypeVar, cast

from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.relay.adt import Match
from parpass.relay.analysis.effects import Effects
from parpass.relay.expr import Call, Expr, Function, GlobalVar, If, Let
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.relay.transform.functions.inline import CopyLimit, body_in_place
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

ExprT = TypeVar("ExprT", bound=Expr)


@register_pass("relay._transform.DefuseOps")
@expects_single_bindings
class DefuseOps(FunctionPass):
    """Inline calls of function literals; the inverse of FuseOps.

    ::

        def @main(%x: Tensor[(10, 20), float32]) -> Tensor[(10, 20), float32] {
          %0 = fn (%p0: Tensor[(10, 20), float32], Primitive=1) -> \
Tensor[(10, 20), float32] {
            %1 = add(%p0, 1f);
            %2 = exp(%1);
            squeeze(%2)
          };
          %0(%x)
        }

    becomes::

        def @main(%x: Tensor[(10, 20), float32]) -> Tensor[(10, 20), float32] {
          %0 = add(%x, 1f);
          %1 = exp(%0);
          squeeze(%1)
        }

    Functions that contain `let`, `if` or closures stay, as do those that another
    compiler takes (`Compiler`). Calls of the module's primitive functions are inlined,
    too, which undoes FunctionsFromFusion; the functions stay until
    RemoveUnusedFunctions. An argument with effects is bound by a `let`.

    The pass is linear in the size of the result, which contains a function once for
    each call.

    Raises:
        SizeLimitError: The pass would copy more nodes than the option
            `relay.max_copied_nodes` allows. The default is 65,536 or four times the
            function's nodes, whichever is more. FunctionsFromFusion can cause this if
            it merged very many equal functions.
    """

    pass_info = PassInfo(3, "DefuseOps", required=("InferType",))
    cacheable = True

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with the bodies of primitive functions in it."""
        defuser = OperatorDefuser(mod, CopyLimit(ctx, [func]))
        result = defuser.visit(func)
        if defuser.replaced:
            ctx.count("replaced", defuser.replaced)
        return result


def defuse_ops(expr: ExprT, mod: IRModule | None = None) -> ExprT:
    """Return an expression with its primitive functions undone; see `DefuseOps`."""
    return cast("ExprT", OperatorDefuser(mod, CopyLimit(None, [expr])).visit(expr))


class OperatorDefuser(ExprMutator):
    """Rewrites calls of functions to what the functions compute.

    Attributes:
        replaced: How many calls were replaced.
    """

    def __init__(self, mod: IRModule | None, copies: CopyLimit) -> None:
        super().__init__()
        self.replaced = 0
        self._copies = copies
        self._mod = mod
        self._effects = Effects(mod=mod)
        self._is_plain: dict[Function, bool] = {}

    def visit_call(self, call: Call) -> Expr:
        """Return the body of the called function, with the arguments in it."""
        new = cast("Call", super().visit_call(call))
        callee = self._called(new.op)
        if callee is None or len(callee.params) != len(new.args):
            return new
        self._copies.take(callee, _name_of(call.op))
        self.replaced += 1
        return body_in_place(callee, new.args, new, self._effects)

    def _called(self, op: Expr) -> Function | None:
        if isinstance(op, GlobalVar) and self._mod is not None and op in self._mod:
            function = self._mod[op]
            op = function if function.has_nonzero_attr("Primitive") else op
        if not isinstance(op, Function) or op.has_nonzero_attr("Compiler"):
            return None
        if op not in self._is_plain:
            self._is_plain[op] = not any(
                isinstance(node, Let | If | Match | Function)
                for node in post_order(op.body)
            )
        return op if self._is_plain[op] else None


def _name_of(op: Expr) -> str | None:
    return op.name_hint if isinstance(op, GlobalVar) else None
