"""The layouts that suit a target: rules of AlterOpLayout that nobody registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from parpass.ir.operators.op_table import Op
from parpass.ir.types.ty import TensorType
from parpass.relay.expr import Call, Expr
from parpass.relay.op.nn.conv import Conv2DAttrs
from parpass.target.target import Target
from parpass.target.vector_registers import VectorRegisters

Alter = Callable[[Any, list[Expr], list[Any], Any], Expr | None]

_BLOCKED = Op.get("nn.contrib_conv2d_NCHWc")
_DEPTHWISE = Op.get("nn.contrib_depthwise_conv2d_NCHWc")
_LAYOUT_TRANSFORM = Op.get("layout_transform")


def target_rules(target: Target | None) -> Mapping[str, Alter]:
    """Return the rules of a target, by operator; none where there is no target."""
    return {} if target is None else {"nn.conv2d": conv2d_for(target)}


def conv2d_for(target: Target) -> Alter:
    """Return a rule that stores channels in blocks, each as long as a vector.

    Input channels that a block does not divide, as those of pictures, stay as they are,
    and so do convolutions to such output channels. Blocks of half a vector are still
    worth it if the channels are not in groups. A convolution of each channel by itself
    gains too little to have its data transformed: it follows what is in blocks already.
    """
    registers = VectorRegisters.of(target)

    def alter(
        attrs: Any, inputs: list[Expr], types: list[Any], out_type: Any
    ) -> Expr | None:
        if not _is_plain(attrs, [*types, out_type]):
            return None
        longest = registers.lanes(out_type.dtype)
        outputs, per_group = types[1].shape[:2]
        if per_group == 1 and outputs == attrs.groups and outputs > 1:
            return _depthwise(attrs, inputs)
        sizes = (longest, longest // 2) if attrs.groups == 1 else (longest,)
        lanes = _block(outputs // attrs.groups, sizes)
        if lanes == 1:
            return None
        inner = _block(per_group, sizes)
        packed = replace(
            attrs,
            data_layout=f"NCHW{inner}c" if inner > 1 else "NCHW",
            kernel_layout=f"OIHW{inner}i{lanes}o" if inner > 1 else f"OIHW{lanes}o",
            out_layout=f"NCHW{lanes}c",
        )
        return Call(_BLOCKED, tuple(inputs), packed)

    return alter


def _depthwise(attrs: Conv2DAttrs, inputs: list[Expr]) -> Expr | None:
    data = inputs[0]
    if not isinstance(data, Call) or data.op is not _LAYOUT_TRANSFORM:
        return None
    known: Any = data.attrs
    if known.dst_layout != "NCHW" or not known.src_layout.startswith("NCHW"):
        return None
    lanes = known.src_layout.removeprefix("NCHW").removesuffix("c")
    packed = replace(
        attrs,
        data_layout=known.src_layout,
        kernel_layout=f"OIHW1i{lanes}o",
        out_layout=known.src_layout,
    )
    return Call(_DEPTHWISE, tuple(inputs), packed)


def _is_plain(attrs: Conv2DAttrs, types: list[Any]) -> bool:
    """Return whether the rule is for a convolution: of floats, of lengths it knows."""
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW")
    return (
        layouts == ("NCHW", "OIHW", "NCHW")
        and all(isinstance(one, TensorType) for one in types)
        and {one.dtype for one in types} in ({"float32"}, {"float64"})
        and all(isinstance(dim, int) for one in types for dim in one.shape)
    )


def _block(channels: int, sizes: tuple[int, ...]) -> int:
    """Return how many channels are to be together; 1 where none of the sizes fits."""
    fitting = (size for size in sizes if size > 1 and channels % size == 0)
    return next(fitting, 1)
