"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Callable

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.node import Node
from parpass.relay.frontend.onnx.operators.axes import normal_axis
from parpass.relay.frontend.onnx.operators.signature import Converter

Axes = tuple[int, ...]
Reduce = Callable[[Expr, Axes, bool], Expr]


def _reduce(build: Reduce, *, axes_as_input: int = 18) -> Converter:
    """Return the converter; from an opset on the axes are an input."""

    def convert(node: Node) -> Expr:
        data = node.input(0)
        shape = node.shape(data)
        if node.opset < axes_as_input:
            axes = node.integers("axes")
        else:
            axes = None if node.optional(1) is None else node.known_ints(1, "axes")
        nothing = node.integer("noop_with_empty_axes", 0)
        keepdims = node.integer("keepdims", 1) != 0
        if not axes:
            axes = () if nothing else tuple(range(len(shape)))
        places = tuple(normal_axis(node, axis, shape) for axis in axes)
        return build(data, places, keepdims)

    return convert


def _l1(data: Expr, axes: Axes, keepdims: bool) -> Expr:
    return op.sum(op.abs(data), axes, keepdims)


def _l2(data: Expr, axes: Axes, keepdims: bool) -> Expr:
    return op.sqrt(_sum_square(data, axes, keepdims))


def _sum_square(data: Expr, axes: Axes, keepdims: bool) -> Expr:
    return op.sum(op.multiply(data, data), axes, keepdims)


def _log_sum(data: Expr, axes: Axes, keepdims: bool) -> Expr:
    return op.log(op.sum(data, axes, keepdims))


def _argument(build: Callable[..., Expr]) -> Converter:
    def convert(node: Node) -> Expr:
        data = node.input(0)
        axis = normal_axis(node, node.integer("axis", 0), node.shape(data))
        found = build(
            data,
            axis,
            keepdims=node.integer("keepdims", 1) != 0,
            select_last_index=node.integer("select_last_index", 0) != 0,
        )
        return op.cast(found, "int64")

    return convert


REDUCE: dict[str, Converter] = {
    "ArgMax": _argument(op.argmax),
    "ArgMin": _argument(op.argmin),
    "ReduceL1": _reduce(_l1),
    "ReduceL2": _reduce(_l2),
    "ReduceLogSum": _reduce(_log_sum),
    "ReduceLogSumExp": _reduce(op.logsumexp),
    "ReduceMax": _reduce(op.max),
    "ReduceMean": _reduce(op.mean),
    "ReduceMin": _reduce(op.min),
    "ReduceProd": _reduce(op.prod),
    "ReduceSum": _reduce(op.sum, axes_as_input=13),
    "ReduceSumSquare": _reduce(_sum_square),
}
