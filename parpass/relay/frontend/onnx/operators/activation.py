"""Activations that Relay has no operator for: compositions of those that it has."""

from __future__ import annotations

from functools import partial

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.onnx_node import OnnxNode
from parpass.relay.frontend.onnx.operators.elementwise import in_floats
from parpass.relay.frontend.onnx.operators.signature import Converter


def elu_of(node: OnnxNode, data: Expr, alpha: float, gamma: float) -> Expr:
    """Return `gamma * (data if data > 0 else alpha * (exp(data) - 1))`."""
    zero, one = node.scalar(0, data), node.scalar(1, data)
    below = op.subtract(op.exp(op.minimum(data, zero)), one)
    below = op.multiply(node.scalar(alpha, data), below)
    result = op.where(op.greater(data, zero), data, below)
    return result if gamma == 1.0 else op.multiply(node.scalar(gamma, data), result)


def _elu(node: OnnxNode) -> Expr:
    return elu_of(node, node.input(0), node.number("alpha", 1.0), 1.0)


def _selu(node: OnnxNode) -> Expr:
    alpha = node.number("alpha", 1.67326319217681884765625)
    gamma = node.number("gamma", 1.05070102214813232421875)
    return elu_of(node, node.input(0), alpha, gamma)


def _celu(node: OnnxNode) -> Expr:
    data, alpha = node.input(0), node.number("alpha", 1.0)
    zero, one = node.scalar(0, data), node.scalar(1, data)
    scaled = op.divide(op.minimum(data, zero), node.scalar(alpha, data))
    below = op.multiply(node.scalar(alpha, data), op.subtract(op.exp(scaled), one))
    return op.add(op.maximum(data, zero), below)


def hard_sigmoid_of(node: OnnxNode, data: Expr, alpha: float, beta: float) -> Expr:
    """Return `alpha * data + beta`, cut to what lies from 0 to 1."""
    line = op.add(op.multiply(node.scalar(alpha, data), data), node.scalar(beta, data))
    return op.clip(line, 0.0, 1.0)


def _hard_sigmoid(node: OnnxNode) -> Expr:
    alpha, beta = node.number("alpha", 0.2), node.number("beta", 0.5)
    return hard_sigmoid_of(node, node.input(0), alpha, beta)


def _hard_swish(node: OnnxNode) -> Expr:
    data = node.input(0)
    return op.multiply(data, hard_sigmoid_of(node, data, 1 / 6, 0.5))


def _leaky_relu(node: OnnxNode) -> Expr:
    return op.nn.leaky_relu(node.input(0), node.number("alpha", 0.01))


def _prelu(node: OnnxNode) -> Expr:
    data, slope = node.input(0), node.input(1)
    return op.where(op.less(data, node.scalar(0, data)), op.multiply(data, slope), data)


def _thresholded_relu(node: OnnxNode) -> Expr:
    data = node.input(0)
    above = op.greater(data, node.scalar(node.number("alpha", 1.0), data))
    return op.where(above, data, node.scalar(0, data))


def softplus_of(node: OnnxNode, data: Expr) -> Expr:
    """Return `log(1 + exp(data))`."""
    # The larger part is taken out, so that nothing overflows.
    rest = op.log1p(op.exp(op.negative(op.abs(data))))
    return op.add(op.maximum(data, node.scalar(0, data)), rest)


def _softplus(node: OnnxNode) -> Expr:
    return softplus_of(node, node.input(0))


def softsign_of(node: OnnxNode, data: Expr) -> Expr:
    """Return `data / (1 + |data|)`."""
    return op.divide(data, op.add(node.scalar(1, data), op.abs(data)))


def _softsign(node: OnnxNode) -> Expr:
    return softsign_of(node, node.input(0))


def _mish(node: OnnxNode) -> Expr:
    data = node.input(0)
    return op.multiply(data, op.tanh(softplus_of(node, data)))


def _shrink(node: OnnxNode) -> Expr:
    lambd, bias = node.number("lambd", 0.5), node.number("bias", 0.0)
    return in_floats(node, partial(_shrunk, node, lambd, bias), node.input(0))


def _shrunk(node: OnnxNode, lambd: float, bias: float, data: Expr) -> Expr:
    zero = node.scalar(0, data)
    offset = node.scalar(bias, data)
    below = op.where(
        op.less(data, node.scalar(-lambd, data)), op.add(data, offset), zero
    )
    above = op.greater(data, node.scalar(lambd, data))
    return op.where(above, op.subtract(data, offset), below)


def _gelu(node: OnnxNode) -> Expr:
    data, half = node.input(0), node.scalar(0.5, node.input(0))
    one = node.scalar(1, data)
    kind = node.text("approximate", "none")
    if kind == "tanh":
        cube = op.multiply(op.multiply(data, data), data)
        inner = op.add(data, op.multiply(node.scalar(0.044715, data), cube))
        part = op.tanh(
            op.multiply(node.scalar((2 / 3.141592653589793) ** 0.5, data), inner)
        )
    else:
        part = op.erf(op.divide(data, node.scalar(2**0.5, data)))
    return op.multiply(op.multiply(half, data), op.add(one, part))


ACTIVATION: dict[str, Converter] = {
    "Celu": _celu,
    "Elu": _elu,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "LeakyRelu": _leaky_relu,
    "Mish": _mish,
    "PRelu": _prelu,
    "Selu": _selu,
    "Shrink": _shrink,
    "Softplus": _softplus,
    "Softsign": _softsign,
    "ThresholdedRelu": _thresholded_relu,
}
