"""Tensors, which `parpass.te` computes, and the expressions that read them.

`te.create_prim_func` makes buffers of them, and statements have none.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.node import FieldKind, Node, reflected
from parpass.tir.data_type import checked
from parpass.tir.expr.prim_expr import Operands, PrimExpr, as_prim_exprs
from parpass.tir.expr.scalar import set_dtype


@reflected(is_graph=False, shape=FieldKind.CHILDREN, op=FieldKind.META)
class Tensor(Node, frozen=True, eq=False):
    """Values with a shape, and their operation; `x[i, j]` reads one.

    Attributes:
        shape: The length of each dimension.
        dtype: The dtype of the elements.
        op: The operation that computes it: a `te.PlaceholderOp` or a `te.ComputeOp`.
        value_index: Its index among the results of `op`.
    """

    namespace: ClassVar[str] = "tir"

    shape: Operands
    dtype: str
    op: Any
    value_index: int = 0

    def __post_init__(self) -> None:
        force_setattr(self, "shape", as_prim_exprs(self.shape))
        force_setattr(self, "dtype", checked(self.dtype))

    @property
    def name(self) -> str:
        """The name of the operation, with a number if it has several results."""
        several = self.op.num_outputs > 1
        return f"{self.op.name}.v{self.value_index}" if several else self.op.name

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __getitem__(self, indices: Any) -> Any:
        return TensorSlice(self, ())[indices]

    def __call__(self, *indices: Any) -> Any:
        """Return the element at these indices."""
        return self[indices]


class TensorSlice:
    """A tensor with some of its indices given; the element once all are given."""

    def __init__(self, tensor: Tensor, indices: tuple[Any, ...]) -> None:
        self.tensor = tensor
        self.indices = indices

    def __getitem__(self, indices: Any) -> Any:
        more: Any = cast("Any", indices) if isinstance(indices, tuple) else (indices,)
        given: tuple[Any, ...] = (*self.indices, *more)
        if len(given) < self.tensor.ndim:
            return TensorSlice(self.tensor, given)
        return ProducerLoad(self.tensor, given)


@reflected(
    is_graph=False,
    producer=FieldKind.CHILD,
    indices=FieldKind.CHILDREN,
    dtype=FieldKind.DERIVED,
)
class ProducerLoad(PrimExpr, frozen=True, eq=False):
    """An element of a tensor, by its indices."""

    producer: Any
    indices: Operands
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "indices", as_prim_exprs(self.indices))
        producer: Any = self.producer
        if not isinstance(producer, Tensor):
            raise IRTypeError(
                f"expected a tensor in ProducerLoad, got {type(producer).__name__}"
            )
        if len(self.indices) != producer.ndim:
            raise IRTypeError(
                f"expected {producer.ndim} indices for tensor '{producer.name}', got "
                f"{len(self.indices)}"
            )
        set_dtype(self, producer.dtype)
