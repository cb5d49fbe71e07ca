"""FastMath: functions that take long become approximations."""

from __future__ import annotations

from typing import cast

from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.relay.analysis.operator_names import has_operator
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

_FAST = {
    "erf": "fast_erf",
    "exp": "fast_exp",
    "nn.softmax": "nn.fast_softmax",
    "tanh": "fast_tanh",
}


@register_pass("relay._transform.FastMath")
@expects_single_bindings
class FastMath(FunctionPass):
    """Approximate `exp`, `erf`, `tanh` and `nn.softmax` by polynomials.

    ::

        def @main(%x: Tensor[(3,), float32]) {
          tanh(%x)
        }

    becomes::

        def @main(%x: Tensor[(3,), float32]) {
          fast_tanh(%x)
        }

    The last digits change, so this pass is at level 4.
    """

    pass_info = PassInfo(4, "FastMath", required=("InferType",))
    cacheable = True

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with approximations."""
        if not has_operator(func, _FAST, ctx):
            return func
        return FastMathReplacer().visit(func)


class FastMathReplacer(ExprMutator):
    """Rewrites calls of operators to those of their approximations."""

    def visit_call(self, call: Call) -> Expr:
        """Return a call of the approximation, if there is one."""
        new = cast("Call", super().visit_call(call))
        fast = _FAST.get(new.op.name) if isinstance(new.op, Op) else None
        if fast is None:
            return new
        return Call(Op.get(fast), new.args, new.attrs, span=new.span)
