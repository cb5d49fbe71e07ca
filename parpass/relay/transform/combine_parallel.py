"""CombineParallelDense, CombineParallelBatchMatmul and CombineParallelConv2D.

Each joins calls on the same data; of batch products, those with one left side.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from msgspec import structs

from parpass.ir.op.op_table import Op, OpPattern
from parpass.relay.expr import Call, Expr, Tuple, TupleGetItem
from parpass.relay.op import expand_dims, split, squeeze, stack
from parpass.relay.op.nn import batch_matmul
from parpass.relay.span_filler import with_span
from parpass.relay.transform.parallel_combiner import (
    AxisCombiner,
    CombiningPass,
    ParallelCombiner,
    tensor_type,
)
from parpass.transform import PassInfo, register_pass

_DENSE = Op.get("nn.dense")


@register_pass("relay._transform.CombineParallelDense")
class CombineParallelDense(CombiningPass):
    """Merge matrix products of the same data, and the elementwise calls after them.

    ::

        def @main(%d: Tensor[(2, 4), float32], %e: Tensor[(3, 4), float32],
                  %f: Tensor[(3, 4), float32]) {
          %0 = nn.dense(%d, %e);
          %1 = nn.dense(%d, %f);
          (%0, %1)
        }

    becomes, with `min_num_branches=2`::

        def @main(%d: Tensor[(2, 4), float32], %e: Tensor[(3, 4), float32],
                  %f: Tensor[(3, 4), float32]) {
          %0 = (%d, %d);
          %1 = stack(%0);
          %2 = (%e, %f);
          %3 = stack(%2);
          %4 = nn.batch_matmul(%1, %3);
          %5 = split(%4, indices_or_sections=2);
          %6 = squeeze(%5.0, axis=[0]);
          %7 = squeeze(%5.1, axis=[0]);
          (%6, %7)
        }

    Without `to_batch` the weights are concatenated and the result is split; the
    products may then have different numbers of units.

    Args:
        min_num_branches: The minimum number of products to merge.
        to_batch: Whether to merge them into a batched product.
    """

    pass_info = PassInfo(4, "CombineParallelDense", required=("InferType",))
    cacheable = True

    def __init__(self, min_num_branches: int = 3, to_batch: bool = True) -> None:
        super().__init__(min_num_branches)
        self.to_batch = to_batch

    def _combiner_type(self) -> type[ParallelCombiner]:
        return DenseToBatchCombiner if self.to_batch else DenseToDenseCombiner


class DenseToDenseCombiner(AxisCombiner):
    """Joins products along the units."""

    op = _DENSE
    repeats_one = True

    def key(self, call: Call) -> Hashable | None:
        """Return the result's dtype and the weight's type, units aside."""
        result, weight = tensor_type(call), tensor_type(call.args[1])
        if result is None or weight is None:
            return None
        return (call.attrs.out_dtype, weight.dtype, weight.shape[1])

    def place(self, call: Call) -> tuple[int, int]:
        """Return the axes of the units in the result and in the weight."""
        result = tensor_type(call)
        return len(result.shape) - 1 if result else 0, 0

    def joined_attrs(self, attrs: Any, length: int) -> Any:
        """Return the attributes of the product with all units."""
        return structs.replace(attrs, units=length)


class DenseToBatchCombiner(ParallelCombiner):
    """Joins products as a batch."""

    op = _DENSE

    def key(self, call: Call) -> Hashable | None:
        """Return the result's dtype and the weight's type, for data of two axes."""
        result, weight = tensor_type(call), tensor_type(call.args[1])
        if result is None or weight is None or len(result.shape) != 2:
            return None
        return (call.attrs.out_dtype, weight)

    def joined(self, calls: Sequence[Call]) -> Expr:
        """Return the batch of all products."""
        span = calls[0].span
        columns = [tuple(call.args[at] for call in calls) for at in (0, 1)]
        data, weight = (
            with_span(stack(Tuple(each), axis=0), span, each) for each in columns
        )
        batch = batch_matmul(data, weight, out_dtype=calls[0].attrs.out_dtype)
        return Call(batch.op, batch.args, batch.attrs, span=span)

    def follows(self, call: Call, op: Op) -> bool:
        """Return whether calls are elementwise, or broadcast."""
        is_binary = op.pattern == OpPattern.BROADCAST and call.attrs is None
        return op.pattern == OpPattern.ELEMWISE or is_binary

    def joined_operand(self, operands: Sequence[Expr]) -> Expr | None:
        """Return operands of one type as a batch that broadcasts with the products."""
        types = {tensor_type(operand) for operand in operands}
        (found,) = types if len(types) == 1 else (None,)
        if found is None or len(found.shape) not in {1, 2}:
            return None
        span, kept = getattr(operands[0], "span", None), operands
        if len(found.shape) == 1:
            operands = [expand_dims(operand, 0) for operand in operands]
        return with_span(stack(Tuple(tuple(operands)), axis=0), span, kept)

    def parts(self, data: Expr, last: Sequence[Call]) -> list[Expr]:
        """Return the members of the batch."""
        members = split(data, len(last), axis=0).astuple()
        members = with_span(members, last[0].span, [data])
        fields = [TupleGetItem(members, at, one.span) for at, one in enumerate(last)]
        return [
            with_span(squeeze(field, axis=(0,)), field.span, [field])
            for field in fields
        ]


@register_pass("relay._transform.CombineParallelBatchMatmul")
class CombineParallelBatchMatmul(CombiningPass):
    """Merge batched matrix products that share their left operand.

    ::

        def @main(%m: Tensor[(2, 3, 4), float32], %n: Tensor[(2, 5, 4), float32],
                  %o: Tensor[(2, 6, 4), float32]) {
          %0 = nn.batch_matmul(%m, %n);
          %1 = nn.batch_matmul(%m, %o);
          (%0, %1)
        }

    becomes, with `min_num_branches=2`::

        def @main(%m: Tensor[(2, 3, 4), float32], %n: Tensor[(2, 5, 4), float32],
                  %o: Tensor[(2, 6, 4), float32]) {
          %0 = (%n, %o);
          %1 = concatenate(%0, axis=1);
          %2 = nn.batch_matmul(%m, %1);
          %3 = strided_slice(%2, begin=[0, 0, 0], end=[-1, -1, 5],
                             strides=[1, 1, 1], slice_mode="size");
          %4 = strided_slice(%2, begin=[0, 0, 5], end=[-1, -1, 6],
                             strides=[1, 1, 1], slice_mode="size");
          (%3, %4)
        }

    The elementwise calls after the products are merged, too.

    Args:
        min_num_branches: The minimum number of products to merge.
    """

    pass_info = PassInfo(4, "CombineParallelBatchMatmul", required=("InferType",))
    cacheable = True

    def _combiner_type(self) -> type[ParallelCombiner]:
        return BatchMatmulCombiner


class BatchMatmulCombiner(AxisCombiner):
    """Joins products along the columns of the result."""

    op = Op.get("nn.batch_matmul")
    counts_from_end = True

    def key(self, call: Call) -> Hashable | None:
        """Return the attributes and the right side's shape, columns aside."""
        result, right = tensor_type(call), tensor_type(call.args[1])
        if result is None or right is None:
            return None
        shape = list(right.shape)
        del shape[_columns_axis(call)]
        return (call.attrs, right.dtype, *shape)

    def place(self, call: Call) -> tuple[int, int]:
        """Return the axes of the columns in the result and in the right side."""
        return 2, _columns_axis(call)


def _columns_axis(call: Call) -> int:
    return 1 if call.attrs.transpose_b else 2


@register_pass("relay._transform.CombineParallelConv2D")
class CombineParallelConv2D(CombiningPass):
    """Merge convolutions of the same data, and the elementwise calls after them.

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

    Convolutions are merged if they differ only in their output channels.

    Args:
        min_num_branches: The minimum number of convolutions to merge.
    """

    pass_info = PassInfo(4, "CombineParallelConv2d", required=("InferType",))
    cacheable = True

    def _combiner_type(self) -> type[ParallelCombiner]:
        return Conv2DCombiner


class Conv2DCombiner(AxisCombiner):
    """Joins convolutions along the output channels."""

    op = Op.get("nn.conv2d")
    slices_all_axes = False

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

    def joined_attrs(self, attrs: Any, length: int) -> Any:
        """Return the attributes of the convolution with all channels."""
        return structs.replace(attrs, channels=length)
