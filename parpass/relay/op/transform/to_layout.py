"""The operator that stores a tensor in another layout."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import Array
from parpass.ir.types.ty import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.build import INJECTIVE, operator
from parpass.relay.op.declaration.layout import Layout, relaid, relaid_shape
from parpass.relay.op.declaration.relations import (
    tensors,
)

__all__ = ["layout_transform"]


class LayoutTransformAttrs(Attrs, frozen=True):
    """Attributes of `layout_transform`."""

    src_layout: str
    dst_layout: str

    def check(self) -> None:
        """Reject layouts of different axes."""
        source, target = Layout.of(self.src_layout), Layout.of(self.dst_layout)
        if not source.has(target.primal):
            raise IRTypeError(
                f"expected layouts of the same axes, got '{self.src_layout}' and "
                f"'{self.dst_layout}'"
            )


def _layout_transform_relation(
    types: Sequence[Type], attrs: LayoutTransformAttrs
) -> TensorType:
    (data,) = tensors(types)
    shape = relaid_shape(data.shape, attrs.src_layout, attrs.dst_layout)
    return TensorType(shape, data.dtype)


def _layout_transform(attrs: LayoutTransformAttrs, data: Array) -> Array:
    return relaid(data, attrs.src_layout, attrs.dst_layout)


@operator(
    "layout_transform",
    _layout_transform_relation,
    _layout_transform,
    LayoutTransformAttrs,
    pattern=INJECTIVE,
    moves=True,
)
def layout_transform(data: Expr, src_layout: str, dst_layout: str) -> Call:
    """Store a tensor in another layout, such as NCHW as NHWC, or NCHW16c."""
    ...
