"""CombineParallelBatchMatmul: products with the same left side become one."""

from __future__ import annotations

from collections.abc import Hashable

from parpass.ir.operators.op_table import Op
from parpass.relay.expr import Call, Expr
from parpass.relay.transform.combine.axis_combiner import AxisCombiner
from parpass.relay.transform.combine.parallel_combiner import CombiningPass, tensor_type
from parpass.transform import PassInfo, register_pass


@register_pass("relay._transform.CombineParallelBatchMatmul")
class CombineParallelBatchMatmul(CombiningPass):
    """Join batches of products with the same left side.

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

    The elementwise calls behind the products are joined, too.

    Args:
        min_num_branches: Fewer products than these are left alone.
    """

    pass_info = PassInfo(4, "CombineParallelBatchMatmul", required=("InferType",))

    def _combiner(self) -> BatchMatmulCombiner:
        return BatchMatmulCombiner(self.min_num_branches)


class BatchMatmulCombiner(AxisCombiner):
    """Joins products along the columns of the result."""

    counts_from_end = True

    def __init__(self, min_num_branches: int) -> None:
        super().__init__(Op.get("nn.batch_matmul"), min_num_branches)

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

    def joined_call(self, first: Call, weight: Expr, length: int) -> Expr:
        """Return the product with all columns."""
        return Call(first.op, (first.args[0], weight), first.attrs, span=first.span)


def _columns_axis(call: Call) -> int:
    return 1 if call.attrs.transpose_b else 2
