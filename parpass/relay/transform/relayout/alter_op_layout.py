"""AlterOpLayout: operators in the layouts that suit a target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from parpass.ir.module import IRModule
from parpass.ir.operators.op_attrs import op_attrs
from parpass.ir.operators.op_table import Op
from parpass.ir.types.ty import TensorType
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.op import nn
from parpass.relay.op.hooks.layout_hooks import ALTER_OP_LAYOUT
from parpass.relay.transform.relayout.layout_rewriter import LayoutRewriter
from parpass.relay.transform.relayout.target_layouts import target_rules
from parpass.relay.typing.infer import typed_function
from parpass.target.target import Target
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.AlterOpLayout")
class AlterOpLayout(FunctionPass):
    """Replace operators by what the rules registered for them return.

    With `relay.op.register_alter_op_layout("nn.conv2d", conv2d_nchwc(2))`::

        def @main(%x: Tensor[(1, 4, 8, 8), float32], \
%w: Tensor[(4, 4, 3, 3), float32]) {
          %0 = nn.conv2d(%x, %w);
          nn.relu(%0)
        }

    becomes::

        def @main(%x: Tensor[(1, 4, 8, 8), float32], \
%w: Tensor[(4, 4, 3, 3), float32]) -> Tensor[(1, 4, 6, 6), float32] {
          %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW2c");
          %1 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW2i2o");
          %2 = nn.contrib_conv2d_NCHWc(%0, %1, data_layout="NCHW2c", \
kernel_layout="OIHW2i2o");
          %3 = nn.relu(%2);
          layout_transform(%3, src_layout="NCHW2c", dst_layout="NCHW")
        }

    Operators around it go on in the new layout where they can; elsewhere values are
    transformed. Without rules nothing changes. A current target has some, for the
    convolutions that its vectors suit (`target_layouts.py`); those that are registered
    take their place.

    A rule is a function of the call's attributes, its arguments, their types and the
    type of its result. It returns a call in other layouts, by `data_layout`,
    `kernel_layout` and `out_layout`, or by `layout`; or None to leave the operator.
    """

    pass_info = PassInfo(3, "AlterOpLayout", required=("InferType",))

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with operators replaced."""
        rules = {**target_rules(Target.current()), **op_attrs(ALTER_OP_LAYOUT)}

        def alter(call: Call, args: tuple[Expr, ...]) -> Expr | None:
            rule = rules.get(cast("Op", call.op).name)
            if rule is None:
                return None
            types = [arg.checked_type for arg in call.args]
            return rule(call.attrs, list(args), types, call.checked_type)

        if not rules:
            return func
        rewriter = LayoutRewriter(alter)
        result = rewriter.visit(typed_function(func, mod))
        if rewriter.altered:
            ctx.count("altered", rewriter.altered)
            return result
        return func


def conv2d_nchwc(block: int) -> Callable[..., Expr | None]:
    """Return a rule that stores the channels of convolutions in blocks.

    Those that the block does not divide, and grouped ones, are left alone.
    """

    def alter(attrs: Any, inputs: list[Expr], types: list[Any], _out: Any) -> Any:
        weight = types[1]
        is_plain = (attrs.data_layout, attrs.kernel_layout) == ("NCHW", "OIHW")
        if not is_plain or attrs.groups != 1 or not isinstance(weight, TensorType):
            return None
        channels = [dim for dim in weight.shape[:2] if isinstance(dim, int)]
        if len(channels) < 2 or any(dim % block for dim in channels):
            return None
        given = {key: attrs[key] for key in attrs.keys()}  # noqa: SIM118 -- no mapping
        given |= {
            "data_layout": f"NCHW{block}c",
            "kernel_layout": f"OIHW{block}i{block}o",
            "out_layout": "",
        }
        return nn.contrib_conv2d_nchwc(inputs[0], inputs[1], **given)

    return alter
