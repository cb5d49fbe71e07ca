"""Gradients of operators that pick elements by indices, or make such sequences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from parpass.errors import IRError
from parpass.ir.types.ty import TensorType
from parpass.relay import op
from parpass.relay.expr import Call, Expr, const
from parpass.relay.op.declaration.relations import normal_axes
from parpass.relay.transform.differentiation.pointwise_gradients import Gradient


def _gather(call: Call, grad: Expr) -> list[Expr]:
    data, indices = call.args
    zeros = op.zeros_like(data)
    back = op.scatter_elements(zeros, indices, grad, call.attrs.axis, "add")
    return [back, op.zeros_like(indices)]


def _gather_nd(call: Call, grad: Expr) -> list[Expr]:
    data, indices = call.args
    if call.attrs.batch_dims:
        raise IRError(
            "expected a 'gather_nd' without batch_dims to differentiate, got "
            f"{call.attrs.batch_dims}"
        )
    back = op.scatter_nd(op.zeros_like(data), indices, grad, "add")
    return [back, op.zeros_like(indices)]


def _take(call: Call, grad: Expr) -> list[Expr]:
    data, indices = call.args
    attrs = call.attrs
    if attrs.batch_dims:
        raise IRError(
            "expected a 'take' without batch_dims to differentiate, got "
            f"{attrs.batch_dims}"
        )
    shape = cast("TensorType", data.checked_type).concrete_shape
    if attrs.axis is None:
        before, length, behind = (), math.prod(shape), ()
    else:
        (axis,) = normal_axes((attrs.axis,), len(shape))
        before, length, behind = shape[:axis], shape[axis], shape[axis + 1 :]
    # The axis that is picked from becomes the first one, in which slices are added.
    sizes = (math.prod(before), math.prod(behind))
    slices = op.transpose(op.reshape(grad, (sizes[0], -1, sizes[1])), (1, 0, 2))
    dtype = cast("TensorType", data.checked_type).dtype
    zeros = op.zeros((length, *sizes), dtype)
    places = op.reshape(_in_range(indices, length, attrs.mode), (1, -1))
    back = op.transpose(op.scatter_nd(zeros, places, slices, "add"), (1, 0, 2))
    return [op.reshape(back, shape), op.zeros_like(indices)]


def _in_range(indices: Expr, length: int, mode: str) -> Expr:
    """Return the indices that `take` goes by."""
    dtype = cast("TensorType", indices.checked_type).dtype
    if mode == "wrap":
        return op.floor_mod(indices, const(length, dtype))
    return op.clip(indices, 0, length - 1)


def _one_hot(call: Call, grad: Expr) -> list[Expr]:
    indices, on_value, off_value = call.args
    attrs = call.attrs
    one, zero = const(1, attrs.dtype), const(0, attrs.dtype)
    hot = op.one_hot(indices, one, zero, attrs.depth, attrs.axis, attrs.dtype)
    return [
        op.zeros_like(indices),
        op.cast_like(op.sum(grad * hot), on_value),
        op.cast_like(op.sum(grad * (one - hot)), off_value),
    ]


def _arange(call: Call, grad: Expr) -> list[Expr]:
    start, stop, step = call.args
    ones = op.ones_like(grad)
    steps = op.cumsum(ones) - ones
    return [
        op.cast_like(op.sum(grad), start),
        op.zeros_like(stop),
        op.cast_like(op.sum(grad * steps), step),
    ]


INDEXING: Mapping[str, Gradient] = {
    "arange": _arange,
    "gather": _gather,
    "gather_nd": _gather_nd,
    "one_hot": _one_hot,
    "take": _take,
}
