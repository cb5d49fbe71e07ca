"""What picks elements, or puts them somewhere, by indices."""

from __future__ import annotations

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Constant, Expr, TupleWrapper, const
from parpass.relay.frontend.onnx.node import Node
from parpass.relay.frontend.onnx.operators.axes import normal_axis
from parpass.relay.frontend.onnx.operators.signature import Converter


def _from_front(node: Node, indices: Expr, length: int) -> Expr:
    """Return indices of which negative ones counted from the end."""
    if isinstance(indices, Constant):
        values = indices.data.numpy()
        if not (values < 0).any():
            return indices
        return const(np.where(values < 0, values + length, values))
    below = op.less(indices, node.scalar(0, indices))
    return op.where(below, op.add(indices, node.scalar(length, indices)), indices)


def _gather(node: Node) -> Expr:
    data, indices = node.input(0), node.input(1)
    shape = node.shape(data)
    axis = normal_axis(node, node.integer("axis", 0), shape)
    return op.take(data, _from_front(node, indices, shape[axis]), axis)


def _gather_elements(node: Node) -> Expr:
    data, indices = node.input(0), node.input(1)
    shape = node.shape(data)
    axis = normal_axis(node, node.integer("axis", 0), shape)
    return op.gather(data, axis, _from_front(node, indices, shape[axis]))


def _leading(node: Node, indices: Expr) -> Expr:
    """Return indices whose coordinates come first, as Relay has them."""
    rank = len(node.shape(indices))
    return op.transpose(indices, (rank - 1, *range(rank - 1)))


def _gather_nd(node: Node) -> Expr:
    data, indices = node.input(0), node.input(1)
    return op.gather_nd(data, _leading(node, indices), node.integer("batch_dims", 0))


def _reduction(node: Node) -> str:
    reduction = node.text("reduction", "none")
    if reduction not in ("none", "add", "mul", "min", "max"):
        raise node.fault(f"reduction is '{reduction}', which ONNX does not know")
    return "update" if reduction == "none" else reduction


def _scatter_elements(node: Node) -> Expr:
    data, indices, updates = (node.input(index) for index in range(3))
    shape = node.shape(data)
    axis = normal_axis(node, node.integer("axis", 0), shape)
    indices = _from_front(node, indices, shape[axis])
    return op.scatter_elements(data, indices, updates, axis, _reduction(node))


def _scatter_nd(node: Node) -> Expr:
    data, indices, updates = (node.input(index) for index in range(3))
    return op.scatter_nd(data, _leading(node, indices), updates, _reduction(node))


def _one_hot(node: Node) -> Expr:
    indices = node.input(0)
    depth = int(node.known_number(1, "depth"))
    values = node.input(2)
    axis = node.integer("axis", -1)
    if not node.dtype(indices).startswith(("int", "uint")):
        indices = op.cast(indices, "int64")
    off, on = (op.take(values, const(np.int64(at)), 0) for at in (0, 1))
    indices = _from_front(node, indices, depth)
    return op.one_hot(indices, on, off, depth, axis, node.dtype(values))


def _top_k(node: Node) -> TupleWrapper:
    data = node.input(0)
    k = node.integer("k", 0) if node.opset < 10 else int(node.known_number(1, "k"))
    axis = normal_axis(node, node.integer("axis", -1), node.shape(data))
    node.integer("sorted", 1)  # sorted is one of the orders that 0 allows
    ascending = node.integer("largest", 1) == 0
    found = op.topk(data, k, axis, "both", ascending, "int64")
    assert isinstance(found, TupleWrapper)
    return found


def _cum_sum(node: Node) -> Expr:
    data = node.input(0)
    axis = normal_axis(node, int(node.known_number(1, "axis")), node.shape(data))
    exclusive = node.integer("exclusive", 0) != 0
    if node.integer("reverse", 0):
        return op.reverse(
            op.cumsum(op.reverse(data, axis), axis, None, exclusive), axis
        )
    return op.cumsum(data, axis, None, exclusive)


def _non_zero(node: Node) -> Expr:
    return op.cast(op.transpose(op.argwhere(node.input(0)), (1, 0)), "int64")


def _reverse_sequence(node: Node) -> Expr:
    batch, time = node.integer("batch_axis", 1), node.integer("time_axis", 0)
    return op.reverse_sequence(node.input(0), node.input(1), time, batch)


INDEX: dict[str, Converter] = {
    "CumSum": _cum_sum,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "ReverseSequence": _reverse_sequence,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TopK": _top_k,
}
