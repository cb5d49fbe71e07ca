"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators.axes import Axes, axes_of, normal_axis
from parpass.relay.frontend.onnx.operators.elementwise import (
    in_floats,
    in_wide_floats,
)


@dataclass(frozen=True, slots=True)
class _Over:
    """The axes of a reduction.

    Attributes:
        axes: The axes; an expression if they are known only at run time.
        keepdims: Whether the reduced axes are kept, with length 1.
    """

    axes: Axes
    keepdims: bool

    def reduce(self, name: str, data: Expr, keepdims: bool | None = None) -> Expr:
        """Return a reduction of Relay: the operator that takes these axes."""
        kept = self.keepdims if keepdims is None else keepdims
        if isinstance(self.axes, Expr):
            return getattr(op.dyn, name)(data, self.axes, kept)
        return getattr(op, name)(data, self.axes, kept)


Reduce = Callable[[OnnxNode, Expr, _Over], Expr]


def _reduce(build: Reduce, *, axes_as_input: int = 18) -> Converter:
    """Return the converter; from an opset on the axes are an input."""

    def convert(node: OnnxNode) -> Expr:
        data = node.input(0)
        axes = axes_of(node, axes_as_input)
        nothing = node.integer("noop_with_empty_axes", 0)
        keepdims = node.integer("keepdims", 1) != 0
        if not isinstance(axes, Expr):
            rank = node.rank(data)
            if not axes:
                axes = () if nothing else tuple(range(rank))
            axes = tuple(normal_axis(node, axis, (0,) * rank) for axis in axes)
        return build(node, data, _Over(axes, keepdims))

    return convert


def _plain(name: str) -> Reduce:
    return lambda node, data, over: over.reduce(name, data)


def _extreme(name: str, of_bools: str) -> Reduce:
    def build(node: OnnxNode, data: Expr, over: _Over) -> Expr:
        return over.reduce(of_bools if node.dtype(data) == "bool" else name, data)

    return build


def _l1(node: OnnxNode, data: Expr, over: _Over) -> Expr:
    return over.reduce("sum", op.abs(data))


def _sum_square(node: OnnxNode, data: Expr, over: _Over) -> Expr:
    return over.reduce("sum", op.multiply(data, data))


def _in_floats(build: Reduce) -> Reduce:
    """Return a reduction of which integers are computed in floats, and cut off."""
    return lambda node, data, over: in_floats(
        node, lambda floats: build(node, floats, over), data
    )


def _in_wide_floats(build: Reduce) -> Reduce:
    """Return a reduction by several operators of which narrow floats are wider."""

    def reduced(node: OnnxNode, data: Expr, over: _Over) -> Expr:
        def of_wide(wide: Expr) -> Expr:
            return build(node, wide, over)

        return in_wide_floats(node, of_wide, data)

    return reduced


def _l2(node: OnnxNode, data: Expr, over: _Over) -> Expr:
    return op.sqrt(_sum_square(node, data, over))


def _log_sum(node: OnnxNode, data: Expr, over: _Over) -> Expr:
    return op.log(over.reduce("sum", data))


def _log_sum_exp(node: OnnxNode, data: Expr, over: _Over) -> Expr:
    """The largest element is taken out, so that nothing overflows."""
    scaled = op.exp(op.subtract(data, _finite(node, over.reduce("max", data, True))))
    largest = _finite(node, over.reduce("max", data))
    return op.add(op.log(over.reduce("sum", scaled)), largest)


def _finite(node: OnnxNode, data: Expr) -> Expr:
    return op.where(op.isfinite(data), data, node.scalar(0, data))


def _argument(build: Callable[..., Expr]) -> Converter:
    def convert(node: OnnxNode) -> Expr:
        data = node.input(0)
        axis = normal_axis(node, node.integer("axis", 0), node.dims(data))
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
    "ReduceL2": _reduce(_in_floats(_in_wide_floats(_l2))),
    "ReduceLogSum": _reduce(_in_floats(_in_wide_floats(_log_sum))),
    "ReduceLogSumExp": _reduce(_in_floats(_in_wide_floats(_log_sum_exp))),
    "ReduceMax": _reduce(_extreme("max", "any")),
    "ReduceMean": _reduce(_plain("mean")),
    "ReduceMin": _reduce(_extreme("min", "all")),
    "ReduceProd": _reduce(_plain("prod")),
    "ReduceSum": _reduce(_plain("sum"), axes_as_input=13),
    "ReduceSumSquare": _reduce(_in_wide_floats(_sum_square)),
}
