"""Converters of the recurrent layers LSTM, GRU and RNN, unrolled into steps.

The layers name their activations in an attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, Tuple, TupleWrapper, const
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators import elementwise
from parpass.relay.frontend.onnx.operators.axes import element
from parpass.relay.frontend.onnx.operators.quantize import centred, on_own_grid

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
    "elu": (lambda node, x, a, _: elementwise.elu_of(node, x, a, 1.0), 1.0, None),
    "hardsigmoid": (elementwise.hard_sigmoid_of, 0.2, 0.5),
    "leakyrelu": (lambda node, x, a, _: op.nn.leaky_relu(x, a), 0.01, None),
    "relu": (lambda node, x, _a, _b: op.nn.relu(x), None, None),
    "scaledtanh": (_scaled_tanh, 1.0, 1.0),
    "sigmoid": (lambda node, x, _a, _b: op.sigmoid(x), None, None),
    "softplus": (lambda node, x, _a, _b: elementwise.softplus_of(node, x), None, None),
    "softsign": (lambda node, x, _a, _b: elementwise.softsign_of(node, x), None, None),
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
            raise node.fault(f"activation '{name}' is unknown to ONNX")
        build, alpha, beta = _KNOWN[name]
        alpha = 0.0 if alpha is None else next(alphas, alpha)
        beta = 0.0 if beta is None else next(betas, beta)
        found.append(partial(_clipped, node, build, alpha, beta, clip))
    return [found[at * count : (at + 1) * count] for at in range(directions)]


def _clipped(
    node: OnnxNode, build: _Build, alpha: float, beta: float, clip: float, data: Expr
) -> Expr:
    return build(node, op.clip(data, -clip, clip) if clip else data, alpha, beta)


States = tuple[Expr, ...]
Product = Callable[[Expr], Expr]
"""Returns the product of rows and the weights of gates."""

Products = Callable[[OnnxNode, int, int, int], list[Product]]
"""Returns products by the weights that a node has as an input, in a direction.

The last argument is the number of parts that the gates are in.
"""


def _products(node: OnnxNode, index: int, at: int, parts: int) -> list[Product]:
    weight = element(node.input(index), at)
    return [partial(op.nn.dense, weight=one) for one in _parts(weight, parts, 0)]


def _products_of_bytes(
    node: OnnxNode, index: int, at: int, parts: int
) -> list[Product]:
    """The weights have a column for each gate, and behind all inputs their scales.

    What they are multiplied by is quantized each time.
    """
    scale, point = (element(node.input(6 + 2 * index + more), at) for more in (0, 1))
    ints = centred(node, element(node.input(index), at), point, rows=False)
    weight = op.transpose(ints, (1, 0))

    def product(rows: Expr) -> Expr:
        quantized = on_own_grid(node, rows)
        total = op.nn.dense(quantized.ints, weight, out_dtype="int32")
        factor = op.multiply(quantized.scale, scale)
        return op.multiply(op.cast(total, "float32"), factor)

    return [product]


@dataclass(frozen=True, slots=True)
class _Weights:
    """The weights of one direction.

    Attributes:
        recurrent: The products of the hidden state, by parts of the gates.
        late_bias: The bias of the hidden state that is not in what goes into steps: of
            the last gate, where GRU resets after the product.
        peepholes: The weights with which LSTM's gates read the cell.
        is_variant: Whether LSTM couples two gates, or GRU resets after the product.
    """

    recurrent: Sequence[Product]
    late_bias: Expr | None
    peepholes: Sequence[Expr] | None
    activations: Sequence[Activation]
    is_variant: bool


Step = Callable[[OnnxNode, _Weights, Sequence[Expr], States], States]


def _recurrent(
    step: Step,
    count: int,
    default: Sequence[str],
    parts: int = 1,
    products: Products = _products,
) -> Converter:
    """Return the converter of a layer.

    Args:
        step: Gives the next states, the hidden one first, of what goes into the gates
            and the last states.
        count: How many states there are.
        default: The activations of one direction.
        parts: In how many parts a step is given the gates: those of a part are computed
            together.
        products: Multiplies by the weights.
    """

    def convert(node: OnnxNode) -> TupleWrapper:
        layer = _Layer(node, step, count, parts, products)
        return layer.run(default)

    return convert


class _Layer:
    """The steps of a layer in one direction, or in both."""

    def __init__(
        self,
        node: OnnxNode,
        step: Step,
        count: int,
        parts: int,
        products: Products,
    ) -> None:
        self._node = node
        self._step = step
        self._parts = parts
        self._products = products
        self._batch_first = node.integer("layout", 0) != 0
        flags = (
            node.integer(one, 0) for one in ("input_forget", "linear_before_reset")
        )
        self._is_variant = any([*flags])
        data = node.of_rank(3, node.input(0), "X")
        self._inputs = self._from_batches(data, (1, 0, 2))
        self._lengths = node.optional(4)
        given = [node.optional(5 + at) for at in range(count)]
        self._initial = [
            one
            and self._from_batches(node.of_rank(3, one, f"initial_{name}"), (1, 0, 2))
            for one, name in zip(given, "hc", strict=False)
        ]
        self._direction = node.text("direction", "forward")
        if self._direction not in ("forward", "reverse", "bidirectional"):
            raise node.fault(
                f"direction is '{self._direction}', which ONNX does not know"
            )
        node.of_rank(3, node.input(1), "W")
        _, *sides = node.shape(node.of_rank(3, node.input(2), "R"))
        self._hidden = min(sides)  # the other one has all gates
        if node.integer("hidden_size", self._hidden) != self._hidden:
            raise node.fault(
                f"hidden_size differs from that of the weights, {self._hidden}"
            )

    def run(self, default: Sequence[str]) -> TupleWrapper:
        """Return all hidden states, and the last states."""
        both = self._direction == "bidirectional"
        functions = activations(self._node, default, 2 if both else 1)
        found = [
            self._one(
                at, functions[at], backwards=at == 1 or self._direction == "reverse"
            )
            for at in range(2 if both else 1)
        ]
        steps = op.stack([hidden for hidden, _ in found], 1)
        last = [
            op.stack(list(states), 0)
            for states in zip(*(s for _, s in found), strict=True)
        ]
        if self._batch_first:
            steps = op.transpose(steps, (2, 0, 1, 3))
            last = [op.transpose(one, (1, 0, 2)) for one in last]
        return TupleWrapper(Tuple((steps, *last)), 1 + len(last))

    def _one(
        self, at: int, functions: Sequence[Activation], *, backwards: bool
    ) -> tuple[Expr, States]:
        data = self._turned(self._inputs) if backwards else self._inputs
        length, batch, _ = self._node.shape(data)
        weights, inputs = self._weights(at, data, functions)
        zeros = op.full(self._node.scalar(0, data), (batch, self._hidden))
        states = tuple(
            zeros if one is None else element(one, at) for one in self._initial
        )
        hidden: list[Expr] = []
        for time in self._node.steps(length):
            new = self._step(self._node, weights, inputs[time], states)
            if self._lengths is None:
                states = new
                hidden.append(new[0])
            else:
                runs = op.less(const(np.int32(time)), op.cast(self._lengths, "int32"))
                runs = op.expand_dims(runs, 1)
                pairs = zip(new, states, strict=True)
                states = tuple(op.where(runs, later, old) for later, old in pairs)
                hidden.append(op.where(runs, new[0], zeros))
        steps = op.stack(hidden, 0)
        return (self._turned(steps) if backwards else steps), states

    def _weights(
        self, at: int, data: Expr, functions: Sequence[Activation]
    ) -> tuple[_Weights, list[tuple[Expr, ...]]]:
        """Return the weights of a direction, and what goes into the gates by steps."""
        node, parts = self._node, self._parts
        length, batch, size = node.shape(data)
        rows = op.reshape(data, (length * batch, size))
        (product,) = self._products(node, 1, at, 1)
        inputs = _parts(product(rows), parts)
        bias, late = node.optional(3), None
        if bias is not None:
            first, second = (_parts(one, parts) for one in _parts(element(bias, at), 2))
            if parts > 1 and self._is_variant:
                late = second.pop()
            biases = [op.add(*both) for both in zip(first, second, strict=False)]
            biases += first[len(second) :]
            inputs = [op.add(*both) for both in zip(inputs, biases, strict=True)]
        peepholes = None
        if len(self._initial) == 2 and node.optional(7) is not None:
            peepholes = _parts(element(node.input(7), at), 3)
        recurrent = self._products(node, 2, at, parts)
        weights = _Weights(recurrent, late, peepholes, functions, self._is_variant)
        by_steps = (_parts(one, length, 0) for one in inputs)
        return weights, list(zip(*by_steps, strict=True))

    def _turned(self, data: Expr) -> Expr:
        if self._lengths is None:
            return op.reverse(data, 0)
        return op.reverse_sequence(data, self._lengths, 0, 1)

    def _from_batches(self, data: Expr, axes: tuple[int, ...]) -> Expr:
        return op.transpose(data, axes) if self._batch_first else data


def _parts(data: Expr, count: int, axis: int = -1) -> list[Expr]:
    return [data] if count == 1 else list(op.split(data, count, axis))


def _gates(node: OnnxNode, data: Expr, count: int) -> list[Expr]:
    """Return the gates that were computed together.

    Each is a slice, which is no kernel of its own where one computes with it.
    """
    size = node.shape(data)[-1] // count
    return [
        op.strided_slice(data, [at * size], [(at + 1) * size], axes=[1])
        for at in range(count)
    ]


def _rnn_step(
    node: OnnxNode, weights: _Weights, inputs: Sequence[Expr], states: States
) -> States:
    (activate,) = weights.activations
    return (activate(_sum(weights, inputs, states[0], 0)),)


def _sum(weights: _Weights, inputs: Sequence[Expr], hidden: Expr, part: int) -> Expr:
    """Return what goes into gates that see nothing but input and hidden state."""
    return op.add(inputs[part], weights.recurrent[part](hidden))


def _lstm_step(
    node: OnnxNode, weights: _Weights, inputs: Sequence[Expr], states: States
) -> States:
    hidden, cell = states
    gate, candidate, output = weights.activations
    into, out, forget, new = _gates(node, _sum(weights, inputs, hidden, 0), 4)
    sees = weights.peepholes
    if sees is not None:
        into = op.add(into, op.multiply(sees[0], cell))
        forget = op.add(forget, op.multiply(sees[2], cell))
    into = gate(into)
    kept = (
        op.subtract(node.scalar(1, into), into) if weights.is_variant else gate(forget)
    )
    cell = op.add(op.multiply(kept, cell), op.multiply(into, candidate(new)))
    if sees is not None:
        out = op.add(out, op.multiply(sees[1], cell))
    return op.multiply(gate(out), output(cell)), cell


def _gru_step(
    node: OnnxNode, weights: _Weights, inputs: Sequence[Expr], states: States
) -> States:
    (hidden,) = states
    gate, candidate = weights.activations
    update, reset = (gate(_sum(weights, inputs, hidden, part)) for part in (0, 1))
    if weights.is_variant:
        seen = weights.recurrent[2](hidden)
        if weights.late_bias is not None:
            seen = op.add(seen, weights.late_bias)
        new = candidate(op.add(inputs[2], op.multiply(reset, seen)))
    else:
        new = candidate(_sum(weights, inputs, op.multiply(reset, hidden), 2))
    rest = op.subtract(node.scalar(1, update), update)
    return (op.add(op.multiply(rest, new), op.multiply(update, hidden)),)


_LSTM = _lstm_step, 2, ("Sigmoid", "Tanh", "Tanh")

RECURRENT: dict[str, Converter] = {
    "GRU": _recurrent(_gru_step, 1, ("Sigmoid", "Tanh"), 3),
    "LSTM": _recurrent(*_LSTM),
    "RNN": _recurrent(_rnn_step, 1, ("Tanh",)),
    "com.microsoft::DynamicQuantizeLSTM": _recurrent(
        *_LSTM, products=_products_of_bytes
    ),
}
