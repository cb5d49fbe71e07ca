"""The activations of recurrent layers, which name them by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.onnx_node import OnnxNode
from parpass.relay.frontend.onnx.operators import activation

Activation = Callable[[Expr], Expr]
_Build = Callable[[OnnxNode, Expr, float, float], Expr]


def _affine(node: OnnxNode, data: Expr, alpha: float, beta: float) -> Expr:
    return op.add(op.multiply(node.scalar(alpha, data), data), node.scalar(beta, data))


def _scaled_tanh(node: OnnxNode, data: Expr, alpha: float, beta: float) -> Expr:
    inner = op.tanh(op.multiply(node.scalar(beta, data), data))
    return op.multiply(node.scalar(alpha, data), inner)


def _thresholded(node: OnnxNode, data: Expr, alpha: float, _beta: float) -> Expr:
    above = op.greater_equal(data, node.scalar(alpha, data))
    return op.where(above, data, node.scalar(0, data))


# With the defaults of alpha and beta; None for what an activation does not have.
_KNOWN: dict[str, tuple[_Build, float | None, float | None]] = {
    "affine": (_affine, 1.0, 0.0),
    "elu": (lambda node, x, a, _: activation.elu_of(node, x, a, 1.0), 1.0, None),
    "hardsigmoid": (activation.hard_sigmoid_of, 0.2, 0.5),
    "leakyrelu": (lambda node, x, a, _: op.nn.leaky_relu(x, a), 0.01, None),
    "relu": (lambda node, x, _a, _b: op.nn.relu(x), None, None),
    "scaledtanh": (_scaled_tanh, 1.0, 1.0),
    "sigmoid": (lambda node, x, _a, _b: op.sigmoid(x), None, None),
    "softplus": (lambda node, x, _a, _b: activation.softplus_of(node, x), None, None),
    "softsign": (lambda node, x, _a, _b: activation.softsign_of(node, x), None, None),
    "tanh": (lambda node, x, _a, _b: op.tanh(x), None, None),
    "thresholdedrelu": (_thresholded, 1.0, None),
}


def activations(
    node: OnnxNode, default: Sequence[str], directions: int
) -> list[list[Activation]]:
    """Return the activations that a layer names, for each direction.

    Args:
        node: The layer.
        default: What one direction has if the layer names none.
        directions: How many directions it has.
    """
    names = [
        one.lower() for one in node.texts("activations") or (*default,) * directions
    ]
    alphas, betas = (
        iter(node.numbers(name) or ())
        for name in ("activation_alpha", "activation_beta")
    )
    clip = node.number("clip", 0.0)
    count = len(default)
    if len(names) != count * directions:
        raise node.fault(f"expected {count * directions} activations, got {len(names)}")
    found: list[Activation] = []
    for name in names:
        if name not in _KNOWN:
            raise node.fault(f"activation '{name}' is none that ONNX knows")
        build, alpha, beta = _KNOWN[name]
        alpha = 0.0 if alpha is None else next(alphas, alpha)
        beta = 0.0 if beta is None else next(betas, beta)
        found.append(partial(_clipped, node, build, alpha, beta, clip))
    return [found[at * count : (at + 1) * count] for at in range(directions)]


def _clipped(
    node: OnnxNode, build: _Build, alpha: float, beta: float, clip: float, data: Expr
) -> Expr:
    return build(node, op.clip(data, -clip, clip) if clip else data, alpha, beta)
