"""Converters of gather and scatter operators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Constant, Expr, TupleWrapper, const
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators.axes import (
    by_axis,
    element,
    normal_axis,
    shape_of,
)
from parpass.runtime.dtypes import is_int_dtype


def from_front(node: OnnxNode, indices: Expr, length: int | Expr) -> Expr:
    """Return indices of which negative ones counted from the end."""
    if isinstance(indices, Constant) and isinstance(length, int):
        values = indices.data.numpy()
        if not (values < 0).any():
            return indices
        return const(np.where(values < 0, values + length, values))
    below = op.less(indices, node.scalar(0, indices))
    if isinstance(length, int):
        count: Expr = node.scalar(length, indices)
    else:
        count = op.cast(op.reshape(length, ()), node.dtype(indices))
    return op.where(below, op.add(indices, count), indices)


def _length(node: OnnxNode, data: Expr, axis: int) -> int | Expr:
    """Return the length of an axis, which may be known to the running model alone."""
    found = node.dims(data)[axis]
    if isinstance(found, int):
        return found
    return element(shape_of(node, data), axis)


def _gather(node: OnnxNode) -> Expr:
    data, indices = node.input(0), node.input(1)
    axis = normal_axis(node, node.integer("axis", 0), node.dims(data))
    return op.take(data, from_front(node, indices, _length(node, data, axis)), axis)


def _gather_elements(node: OnnxNode) -> Expr:
    data, indices = node.input(0), node.input(1)
    axis = normal_axis(node, node.integer("axis", 0), node.dims(data))
    indices = from_front(node, indices, _length(node, data, axis))
    return op.gather(data, axis, indices)


def _leading(node: OnnxNode, indices: Expr) -> Expr:
    """Return indices whose coordinates come first, as Relay has them."""
    rank = node.rank(indices)
    return op.transpose(indices, (rank - 1, *range(rank - 1)))


def _gather_nd(node: OnnxNode) -> Expr:
    data, indices = node.input(0), node.input(1)
    return op.gather_nd(data, _leading(node, indices), node.integer("batch_dims", 0))


def _reduction(node: OnnxNode) -> str:
    reduction = node.text("reduction", "none")
    if reduction not in ("none", "add", "mul", "min", "max"):
        raise node.fault(f"reduction is '{reduction}', which ONNX does not know")
    return "update" if reduction == "none" else reduction


def _scatter_elements(node: OnnxNode) -> Expr:
    data, indices, updates = (node.input(index) for index in range(3))
    axis = normal_axis(node, node.integer("axis", 0), node.dims(data))
    indices = from_front(node, indices, _length(node, data, axis))
    return op.scatter_elements(data, indices, updates, axis, _reduction(node))


def _scatter_nd(node: OnnxNode) -> Expr:
    data, indices, updates = (node.input(index) for index in range(3))
    return op.scatter_nd(data, _leading(node, indices), updates, _reduction(node))


def _one_hot(node: OnnxNode) -> Expr:
    indices = node.input(0)
    depth = int(node.known_number(1, "depth")) if node.is_known(1) else None
    values = node.input(2)
    axis = node.integer("axis", -1)
    if not is_int_dtype(node.dtype(indices)):
        indices = op.cast(indices, "int64")
    off, on = (element(values, at) for at in (0, 1))
    if depth is None:
        count = op.cast(op.reshape(node.input(1), ()), "int64")
        indices = from_front(node, indices, count)
        return op.dyn.one_hot(indices, on, off, count, axis, node.dtype(values))
    indices = from_front(node, indices, depth)
    return op.one_hot(indices, on, off, depth, axis, node.dtype(values))


def _top_k(node: OnnxNode) -> TupleWrapper:
    data = node.input(0)
    axis = normal_axis(node, node.integer("axis", -1), node.dims(data))
    node.integer("sorted", 1)  # sorted is one of the orders that 0 allows
    ascending = node.integer("largest", 1) == 0
    if node.opset >= 10 and not node.is_known(1):
        k = op.reshape(node.input(1), ())
        found = op.dyn.topk(data, k, axis, "both", ascending, "int64")
    else:
        k = node.integer("k", 0) if node.opset < 10 else int(node.known_number(1, "k"))
        found = op.topk(data, k, axis, "both", ascending, "int64")
    assert isinstance(found, TupleWrapper)
    return found


def _scan(build: Callable[..., Expr]) -> Converter:
    def convert(node: OnnxNode) -> Expr:
        data = node.input(0)
        exclusive = node.integer("exclusive", 0) != 0
        backwards = node.integer("reverse", 0) != 0

        def along(axis: int) -> Expr:
            if backwards:
                turned = build(op.reverse(data, axis), axis, None, exclusive)
                return op.reverse(turned, axis)
            return build(data, axis, None, exclusive)

        if not node.is_known(1):
            return by_axis(node, node.input(1), data, along)
        axis = int(node.known_number(1, "axis"))
        return along(normal_axis(node, axis, node.dims(data)))

    return convert


def _non_zero(node: OnnxNode) -> Expr:
    return op.cast(op.transpose(op.argwhere(node.input(0)), (1, 0)), "int64")


def _reverse_sequence(node: OnnxNode) -> Expr:
    batch, time = node.integer("batch_axis", 1), node.integer("time_axis", 0)
    return op.reverse_sequence(node.input(0), node.input(1), time, batch)


def _compress(node: OnnxNode) -> Expr:
    data, condition = node.input(0), node.input(1)
    picked = op.reshape(op.argwhere(condition), (-1,))
    if not node.has("axis"):
        return op.take(op.reshape(data, (-1,)), picked, 0)
    axis = normal_axis(node, node.integer("axis", 0), node.dims(data))
    return op.take(data, picked, axis)


def _tensor_scatter(node: OnnxNode) -> Expr:
    """Each sample of the batch is written from a place of its own on."""
    data, updates, first = node.input(0), node.input(1), node.optional(2)
    shape, mode = node.shape(updates), node.text("mode", "linear")
    axis = normal_axis(node, node.integer("axis", -2), shape)
    if mode not in ("linear", "circular"):
        raise node.fault(f"mode is '{mode}', which ONNX does not know")
    rest = (1,) * (len(shape) - axis - 1)
    places: Expr = const(np.arange(shape[axis]).reshape(-1, *rest))
    if first is not None:
        first = op.reshape(op.cast(first, "int64"), (-1, *(1,) * (len(shape) - 1)))
        places = op.add(places, first)
    if mode == "circular":
        places = op.floor_mod(places, const(np.int64(node.lengths(data, [axis])[0])))
    places = op.broadcast_to(places, shape)
    return op.scatter_elements(data, places, updates, axis)


INDEX: dict[str, Converter] = {
    "Compress": _compress,
    "CumProd": _scan(op.cumprod),
    "CumSum": _scan(op.cumsum),
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "ReverseSequence": _reverse_sequence,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TensorScatter": _tensor_scatter,
    "TopK": _top_k,
}
