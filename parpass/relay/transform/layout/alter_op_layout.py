"""AlterOpLayout: operators in the layouts that suit a target, by built-in rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec.structs import replace

from parpass.ir.module import IRModule
from parpass.ir.op.op_registration import op_attrs
from parpass.ir.op.op_table import Op
from parpass.ir.types import TensorType
from parpass.relay.analysis.operator_names import has_operator
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.op import nn
from parpass.relay.op.declaration.layout import SPATIAL
from parpass.relay.op.hooks import ALTER_OP_LAYOUT
from parpass.relay.op.nn.conv import ConvAttrs
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.relay.transform.layout.layout_rewriter import LayoutRewriter
from parpass.relay.type_inference.infer import typed_function
from parpass.target.target import Target
from parpass.target.vector_registers import VectorRegisters
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

Alter = Callable[[Any, list[Expr], list[Any], Any], Expr | str | None]

# Convolutions of data in blocks, by the number of axes: TVM has names for those of
# images alone.
_SAME = {axes: Op.get(f"nn.conv{axes}d") for axes in SPATIAL}
_BLOCKED = {**_SAME, 2: Op.get("nn.contrib_conv2d_NCHWc")}
_DEPTHWISE = {**_SAME, 2: Op.get("nn.contrib_depthwise_conv2d_NCHWc")}
_LAYOUT_TRANSFORM = Op.get("layout_transform")


def target_rules(target: Target | None) -> Mapping[str, Alter]:
    """Return the rules of a target, by operator; none where there is no target."""
    if target is None:
        return {}
    return dict.fromkeys((op.name for op in _SAME.values()), conv_for(target))


def conv_for(target: Target) -> Alter:
    """Return a rule that stores channels in blocks, each as long as a vector.

    Input channels that a block does not divide, as those of pictures, stay as they are,
    and so do convolutions to such output channels. Blocks of half a vector are still
    worth it if the channels are not in groups. A convolution of each channel by itself
    gains too little to have its data transformed: it follows what is in blocks already.
    """
    registers = VectorRegisters.of(target)

    def alter(
        attrs: Any, inputs: list[Expr], types: list[Any], out_type: Any
    ) -> Expr | str:
        if not _is_plain(attrs, [*types, out_type]):
            return "only floats in NCHW, or NCW or NCDHW, of known lengths go in blocks"
        longest = registers.lanes(out_type.dtype)
        outputs, per_group = types[1].shape[:2]
        if per_group == 1 and outputs == attrs.groups and outputs > 1:
            return _depthwise(attrs, inputs)
        sizes = (longest, longest // 2) if attrs.groups == 1 else (longest,)
        lanes = _block(outputs // attrs.groups, sizes)
        if lanes == 1:
            return f"its output channels are no multiple of {sizes[-1]}"
        inner = _block(per_group, sizes)
        axes = len(attrs.strides)
        data, weight = f"NC{SPATIAL[axes]}", f"OI{SPATIAL[axes]}"
        packed = replace(
            attrs,
            data_layout=f"{data}{inner}c" if inner > 1 else data,
            kernel_layout=f"{weight}{f'{inner}i' if inner > 1 else ''}{lanes}o",
            out_layout=f"{data}{lanes}c",
        )
        return Call(_BLOCKED[axes], tuple(inputs), packed)

    return alter


def _depthwise(attrs: ConvAttrs, inputs: list[Expr]) -> Expr | str:
    data = inputs[0]
    if not isinstance(data, Call) or data.op is not _LAYOUT_TRANSFORM:
        return "it is of each channel by itself, and its data is not in blocks"
    known: Any = data.attrs
    axes = len(attrs.strides)
    plain = f"NC{SPATIAL[axes]}"
    if known.dst_layout != plain or not known.src_layout.startswith(plain):
        return f"its data is in another layout than {plain}"
    lanes = known.src_layout.removeprefix(plain).removesuffix("c")
    packed = replace(
        attrs,
        data_layout=known.src_layout,
        kernel_layout=f"OI{SPATIAL[axes]}1i{lanes}o",
        out_layout=known.src_layout,
    )
    return Call(_DEPTHWISE[axes], tuple(inputs), packed)


def _is_plain(attrs: ConvAttrs, types: list[Any]) -> bool:
    """Return whether the rule is for a convolution: of floats, of lengths it knows."""
    layouts = (attrs.data_layout, attrs.kernel_layout)
    spatial = SPATIAL[len(attrs.strides)]
    return (
        layouts == (f"NC{spatial}", f"OI{spatial}")
        and attrs.out_layout in ("", attrs.data_layout)
        and all(isinstance(one, TensorType) for one in types)
        and {one.dtype for one in types} in ({"float32"}, {"float64"})
        and all(isinstance(dim, int) for one in types for dim in one.shape)
    )


def _block(channels: int, sizes: tuple[int, ...]) -> int:
    """Return how many channels are to be together; 1 where none of the sizes fits."""
    fitting = (size for size in sizes if size > 1 and channels % size == 0)
    return next(fitting, 1)


@register_pass("relay._transform.AlterOpLayout")
@expects_single_bindings
class AlterOpLayout(FunctionPass):
    """Rewrite operators to the layouts that their registered rules choose.

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

    Neighbouring operators continue in the new layout where they can; elsewhere the pass
    inserts `layout_transform`. Without rules the pass is a no-op. The current target,
    if there is one, provides rules for the convolutions that suit its vectors
    (`conv_for`); registered rules take precedence.

    A rule receives the call's attributes, its arguments, their types and the type of
    its result. It returns a call in another layout (set by `data_layout`,
    `kernel_layout` and `out_layout`, or by `layout`), None to leave the operator alone,
    or a text that gives the reason, for a remark.
    """

    pass_info = PassInfo(3, "AlterOpLayout", required=("InferType",))
    cacheable = True

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
            made = rule(call.attrs, list(args), types, call.checked_type)
            if isinstance(made, Expr):
                return made
            why = f"layout kept: {made or 'its rule leaves it'}"
            op = cast("Op", call.op).name
            ctx.remark("missed", why, call.span, name="LayoutKept", op=op)
            return None

        if not (rules and has_operator(func, rules, ctx)):
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
