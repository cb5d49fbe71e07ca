"""CombineParallelConv2D: convolutions of the same data become one."""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import structs

from parpass.ir.operators.op_table import Op
from parpass.relay.expr import Call, Expr
from parpass.relay.transform.combine.axis_combiner import AxisCombiner
from parpass.relay.transform.combine.parallel_combiner import CombiningPass, tensor_type
from parpass.transform import PassInfo, register_pass


@register_pass("relay._transform.CombineParallelConv2D")
class CombineParallelConv2D(CombiningPass):
    """Join convolutions of the same data, and the elementwise calls behind them.

    ::

        def @main(%x: Tensor[(1, 2, 4, 4), float32],
                  %v: Tensor[(3, 2, 1, 1), float32],
                  %w: Tensor[(5, 2, 1, 1), float32]) {
          %0 = nn.conv2d(%x, %v);
          %1 = nn.conv2d(%x, %w);
          (%0, %1)
        }

    becomes, with `min_num_branches=2`::

        def @main(%x: Tensor[(1, 2, 4, 4), float32],
                  %v: Tensor[(3, 2, 1, 1), float32],
                  %w: Tensor[(5, 2, 1, 1), float32]) {
          %0 = (%v, %w);
          %1 = concatenate(%0);
          %2 = nn.conv2d(%x, %1, channels=8);
          %3 = strided_slice(%2, begin=[0, 0], end=[-1, 3], strides=[1, 1],
                             slice_mode="size");
          %4 = strided_slice(%2, begin=[0, 3], end=[-1, 5], strides=[1, 1],
                             slice_mode="size");
          (%3, %4)
        }

    Convolutions go together if they differ in their output channels alone.

    Args:
        min_num_branches: Fewer convolutions than these are left alone.
    """

    pass_info = PassInfo(4, "CombineParallelConv2d", required=("InferType",))

    def _combiner(self) -> Conv2DCombiner:
        return Conv2DCombiner(self.min_num_branches)


class Conv2DCombiner(AxisCombiner):
    """Joins convolutions along the output channels."""

    slices_all_axes = False

    def __init__(self, min_num_branches: int) -> None:
        super().__init__(Op.get("nn.conv2d"), min_num_branches)

    def key(self, call: Call) -> Hashable | None:
        """Return the attributes and the kernel's size, channels aside."""
        result, weight = tensor_type(call), tensor_type(call.args[1])
        attrs = call.attrs
        layouts = attrs.data_layout, attrs.out_layout or attrs.data_layout
        # A blocked layout has its channels in two axes.
        plain = all(sorted(layout) == sorted("NCHW") for layout in layouts)
        if result is None or weight is None or attrs.groups != 1 or not plain:
            return None
        if sorted(attrs.kernel_layout) != sorted("OIHW"):
            return None
        shape = list(weight.shape)
        del shape[attrs.kernel_layout.index("O")]
        return (structs.replace(attrs, channels=None), weight.dtype, *shape)

    def place(self, call: Call) -> tuple[int, int]:
        """Return the axes of the channels in the result and in the weight."""
        attrs = call.attrs
        layout = attrs.out_layout or attrs.data_layout
        return layout.index("C"), attrs.kernel_layout.index("O")

    def joined_call(self, first: Call, weight: Expr, length: int) -> Expr:
        """Return the convolution with all channels."""
        attrs = structs.replace(first.attrs, channels=length)
        return Call(first.op, (first.args[0], weight), attrs, span=first.span)
