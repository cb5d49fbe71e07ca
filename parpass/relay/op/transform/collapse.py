"""Operators that undo a broadcast by sums, as gradients need it."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import Array
from parpass.ir.types.ty import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import Ints, IntTuple
from parpass.relay.op.declaration.build import COMM_REDUCE, operator
from parpass.relay.op.declaration.relations import require_number, tensors
from parpass.relay.op.transform.shape import require_broadcast

__all__ = ["collapse_sum_like", "collapse_sum_to"]


def _collapsed(data: Array, shape: tuple[int, ...]) -> Array:
    more = data.ndim - len(shape)
    # Also along axes of length 1, which changes nothing.
    axes = [*range(more), *(more + at for at, dim in enumerate(shape) if dim == 1)]
    total = data.sum(axis=tuple(axes), keepdims=True, dtype=data.dtype)
    return total.reshape(shape)


def _like_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, like = tensors(types)
    require_number(data)
    require_broadcast(TensorType(like.shape, data.dtype), data.shape)
    return TensorType(like.shape, data.dtype)


def _like(_attrs: None, data: Array, like: Array) -> Array:
    return _collapsed(data, like.shape)


@operator("collapse_sum_like", _like_relation, _like, pattern=COMM_REDUCE)
def collapse_sum_like(data: Expr, collapse_type: Expr) -> Call:
    """Sum along the axes that broadcasting to `data` has repeated another tensor."""
    ...


class CollapseSumToAttrs(Attrs, frozen=True):
    """Attributes of `collapse_sum_to`."""

    shape: IntTuple


def _to_relation(types: Sequence[Type], attrs: CollapseSumToAttrs) -> TensorType:
    (data,) = tensors(types)
    require_number(data)
    result = TensorType(attrs.shape, data.dtype)
    require_broadcast(result, data.shape)
    return result


def _to(attrs: CollapseSumToAttrs, data: Array) -> Array:
    return _collapsed(data, attrs.shape)


@operator("collapse_sum_to", _to_relation, _to, CollapseSumToAttrs, pattern=COMM_REDUCE)
def collapse_sum_to(data: Expr, shape: Ints) -> Call:
    """Sum along the axes that broadcasting a tensor of this shape has repeated."""
    ...
