"""SplitArgs: a function that joins many tensors does not take them all at once."""

from __future__ import annotations

from parpass.errors import ArgumentError
from parpass.ir.module import IRModule
from parpass.ir.op_table import Op
from parpass.relay.expr import Call, Expr, Function, Tuple
from parpass.relay.functor import ExprMutator
from parpass.relay.op import concatenate
from parpass.relay.op.annotation import stop_fusion
from parpass.relay.span_filler import with_span
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.SplitArgs")
@expects_single_bindings
class SplitArgs(FunctionPass):
    """Join many tensors in parts, so that no fused function takes more than so many.

    With at most three, the result among them::

        def @main(%a: Tensor[(2,), int8], %b: Tensor[(3,), int8], \
%c: Tensor[(4,), int8]) {
          %0 = (%a, %b, %c);
          concatenate(%0)
        }

    becomes::

        def @main(%a: Tensor[(2,), int8], %b: Tensor[(3,), int8], \
%c: Tensor[(4,), int8]) -> Tensor[(9,), int8] {
          %0 = (%a, %b);
          %1 = concatenate(%0);
          %2 = annotation.stop_fusion(%1);
          %3 = (%c,);
          %4 = concatenate(%3);
          %5 = annotation.stop_fusion(%4);
          %6 = (%2, %5);
          concatenate(%6)
        }

    As in TVM the parts are joined at once, however many they are.

    Args:
        max_function_args: How many tensors a function may take and give, such as 31
            on a device that binds no more; below 0 for as many as there are.

    Raises:
        ArgumentError: It is from 0 to 2, which leaves nothing to be joined.
    """

    pass_info = PassInfo(1, "SplitArgs", required=("InferType",))

    def __init__(self, max_function_args: int = -1) -> None:
        if 0 <= max_function_args < 3:
            raise ArgumentError(
                "expected at least 3 for max_function_args, or -1 for no limit, "
                f"got {max_function_args}"
            )
        self.max_function_args = max_function_args

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with its joins split."""
        if self.max_function_args < 0:
            return func
        splitter = _Splitter(self.max_function_args - 1)
        result = splitter.visit(func)
        if splitter.split:
            ctx.count("split", splitter.split)
        return result


class _Splitter(ExprMutator):
    """Splits joins of more than `limit` tensors; counts those that were `split`."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.split = 0
        self._limit = limit

    def visit_call(self, call: Call) -> Expr:
        """Return a join of parts, where there are too many tensors."""
        new: Call = super().visit_call(call)
        if not isinstance(new.op, Op) or new.op.name != "concatenate":
            return new
        [joined], limit = new.args, self._limit
        if not isinstance(joined, Tuple) or len(joined) <= limit:
            return new
        self.split += 1
        axis = new.attrs.axis
        parts = [
            stop_fusion(concatenate(joined.fields[at : at + limit], axis))
            for at in range(0, len(joined), limit)
        ]
        whole = with_span(Tuple(parts), new.span, joined.fields)
        return Call(new.op, (whole,), new.attrs, span=new.span)
