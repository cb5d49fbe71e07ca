"""Layers of networks that slide no window."""

from __future__ import annotations

from math import prod

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.node import Node
from parpass.relay.frontend.onnx.operators.axes import normal_axis
from parpass.relay.frontend.onnx.operators.signature import Converter


def _gemm(node: Node) -> Expr:
    a, b, c = node.input(0), node.input(1), node.optional(2)
    if node.integer("transA", 0):
        a = op.transpose(a, axes=(1, 0))
    if not node.integer("transB", 0):
        b = op.transpose(b, axes=(1, 0))  # nn.dense takes (units, inputs)
    product = op.nn.dense(a, b)
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    if alpha != 1.0:
        product = op.multiply(product, node.scalar(alpha, product))
    if c is None or beta == 0.0:
        return product
    units = node.shape(product)[1]
    if beta != 1.0:
        c = op.multiply(c, node.scalar(beta, c))
    if node.shape(c) == (units,):
        return op.nn.bias_add(product, c)
    return op.add(product, c)


def _mat_mul(node: Node) -> Expr:
    a, b = node.input(0), node.input(1)
    ranks = len(node.shape(a)), len(node.shape(b))
    if ranks != (2, 2):
        raise node.refusal(
            f"expected two matrices, got {ranks[0]} and {ranks[1]} dimensions"
        )
    return op.nn.dense(a, op.transpose(b, axes=(1, 0)))


def _batch_normalization(node: Node) -> Expr:
    if node.integer("training_mode", 0) != 0:
        raise node.refusal("training_mode=1 is not supported")
    if node.integer("spatial", 1) != 1:
        raise node.refusal("spatial=0 is not supported")
    node.number("momentum", 0.9)  # only training uses it
    data, scale, bias, mean, variance = (node.input(index) for index in range(5))
    epsilon = node.number("epsilon", 1e-5)
    return op.nn.batch_norm(data, scale, bias, mean, variance, epsilon=epsilon)[0]


def _lrn(node: Node) -> Expr:
    size = node.integer("size", 0)
    if size < 1 or size % 2 == 0:
        raise node.refusal(f"expected an odd size from 1 up, got {size}")
    return op.nn.lrn(
        node.input(0),
        size=size,
        axis=1,
        bias=node.number("bias", 1.0),
        alpha=node.number("alpha", 1e-4),
        beta=node.number("beta", 0.75),
    )


def _dropout(node: Node) -> Expr:
    rate = node.number("ratio", 0.5)
    node.integer("seed", 0)  # nothing is dropped outside of training
    if node.optional(1) is not None:
        rate = node.known_number(1, "ratio")
    if node.optional(2) is not None and node.known_number(2, "training_mode"):
        raise node.refusal("training_mode=True is not supported")
    return op.nn.dropout(node.input(0), rate)


def _softmax(node: Node) -> Expr:
    """Before opset 13, all dimensions from `axis` on are normalised together."""
    data = node.input(0)
    shape = node.shape(data)
    axis = normal_axis(node, node.integer("axis", -1 if node.opset >= 13 else 1), shape)
    if node.opset >= 13 or prod(shape[axis + 1 :]) == 1:
        return op.nn.softmax(data, axis=axis)
    flat = op.reshape(data, (prod(shape[:axis]), prod(shape[axis:])))
    return op.reshape(op.nn.softmax(flat, axis=1), shape)


NEURAL: dict[str, Converter] = {
    "BatchNormalization": _batch_normalization,
    "Dropout": _dropout,
    "Gemm": _gemm,
    "LRN": _lrn,
    "MatMul": _mat_mul,
    "Softmax": _softmax,
}
