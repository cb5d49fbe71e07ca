"""What computes element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.node import Node
from parpass.relay.frontend.onnx.operators.signature import Converter


def _unary(build: Callable[[Expr], Expr]) -> Converter:
    return lambda node: build(node.input(0))


def _binary(build: Callable[[Expr, Expr], Expr]) -> Converter:
    return lambda node: build(node.input(0), node.input(1))


def _variadic(build: Callable[[Expr, Expr], Expr]) -> Converter:
    return lambda node: reduce(build, node.inputs())


def _div(node: Node) -> Expr:
    a, b = node.input(0), node.input(1)
    if not node.dtype(a).startswith(("float", "bfloat")):
        raise node.refusal("only division of floats is supported")
    return op.divide(a, b)


def _clip(node: Node) -> Expr:
    """Before opset 11 the bounds are attributes, then they are inputs."""
    data = node.input(0)
    if node.opset < 11:
        low = node.number("min", float("-inf"))
        high = node.number("max", float("inf"))
        return op.clip(data, low, high)
    bounds = node.optional(1), node.optional(2)
    if bounds[0] is not None:
        data = op.maximum(data, bounds[0])
    if bounds[1] is not None:
        data = op.minimum(data, bounds[1])
    return data


ELEMENTWISE: dict[str, Converter] = {
    "Abs": _unary(op.abs),
    "Add": _binary(op.add),
    "Clip": _clip,
    "Div": _div,
    "Exp": _unary(op.exp),
    "Log": _unary(op.log),
    "Max": _variadic(op.maximum),
    "Min": _variadic(op.minimum),
    "Mul": _binary(op.multiply),
    "Neg": _unary(op.negative),
    "Pow": _binary(op.power),
    "Relu": _unary(op.nn.relu),
    "Sigmoid": _unary(op.sigmoid),
    "Sqrt": _unary(op.sqrt),
    "Sub": _binary(op.subtract),
    "Sum": _variadic(op.add),
    "Tanh": _unary(op.tanh),
}
