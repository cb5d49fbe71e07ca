"""CanonicalizeOps: operators that others express become these."""

from __future__ import annotations

from typing import cast

from parpass.errors import IRTypeError
from parpass.ir.module import IRModule
from parpass.ir.operators.op_table import Op
from parpass.ir.types.ty import TensorType
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.functor import ExprMutator
from parpass.relay.op import expand_dims
from parpass.relay.typing.infer import typed_function
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

_ADD = Op.get("add")
_BIAS_ADD = Op.get("nn.bias_add")


@register_pass("relay._transform.CanonicalizeOps")
class CanonicalizeOps(FunctionPass):
    """Write `nn.bias_add` as an `add` that broadcasts.

    ::

        def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3,), float32]) {
          nn.bias_add(%x, %b)
        }

    becomes::

        def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3,), float32]) {
          %0 = expand_dims(%b, axis=1, num_newaxis=2);
          add(%x, %0)
        }

    Passes that know how to go through an `add` go through a bias then.
    """

    pass_info = PassInfo(3, "CanonicalizeOps", required=("InferType",))

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with biases added by `add`."""
        return OpCanonicalizer().visit(typed_function(func, mod))


class OpCanonicalizer(ExprMutator):
    """Rewrites typed calls of `nn.bias_add`."""

    def visit_call(self, call: Call) -> Expr:
        """Return an `add` for a bias."""
        new = cast("Call", super().visit_call(call))
        if new.op is not _BIAS_ADD:
            return new
        # The type of the argument as it was, for a rewritten one has none yet.
        found = call.args[0].checked_type
        if not isinstance(found, TensorType):
            raise IRTypeError(f"expected a tensor to add a bias to, got {found}")
        data, bias = new.args
        rank = len(found.shape)
        behind = rank - new.attrs.axis % rank - 1
        if behind:
            bias = expand_dims(bias, axis=1, num_newaxis=behind)
        return Call(_ADD, (data, bias), span=call.span)
