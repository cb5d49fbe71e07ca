from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from parpass.errors import FrontendError, MalformedModelError
from parpass.relay import build
from parpass.relay.interpreter.interpreter import create_executor
from parpass.runtime import cpu
from parpass.runtime.graph_executor import GraphModule
from tests.support.onnx.models import Array, graph_model, imported, one_node, random

LENGTH, BATCH, SIZE, HIDDEN = 4, 3, 2, 5
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
X = random(LENGTH, BATCH, SIZE)


def weights(op_type: str, directions: int = 1) -> dict[str, Array]:
    width = GATES[op_type] * HIDDEN
    return {
        "W": random(directions, width, SIZE, seed=1),
        "R": random(directions, width, HIDDEN, seed=2),
        "B": random(directions, 2 * width, seed=3),
    }


def layer(
    op_type: str,
    data: Array = X,
    *,
    known: dict[str, Array] | None = None,
    directions: int = 1,
    lengths: list[int] | None = None,
    **attributes: Any,
) -> onnx.ModelProto:
    """Return a model of one layer; `known` are inputs behind the lengths."""
    given = weights(op_type, directions)
    names = ["X", *given, "" if lengths is None else "lens", *(known or {})]
    if lengths is not None:
        given["lens"] = np.array(lengths, "int32")
    given |= known or {}
    if attributes.get("direction") is None and directions == 2:
        attributes["direction"] = "bidirectional"
    outputs = ["Y", "H", "C"][: 3 if op_type == "LSTM" else 2]
    while names and not names[-1]:
        names.pop()
    node = helper.make_node(op_type, names, outputs, hidden_size=HIDDEN, **attributes)
    return graph_model([node], {"X": data}, outputs, known=given, opset=14)


def run(model: onnx.ModelProto, data: Array = X) -> list[Array]:
    results: Any = create_executor("debug", mod=imported(model)).evaluate()(data)
    return [one.numpy() for one in results]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm(
    data: Array,
    peepholes: Array,
    *,
    coupled: bool = False,
    given: Sequence[Array] | None = None,
    seen: Callable[[Array], Array] = lambda rows: rows,
) -> Array:
    """Return all hidden states, by the equations of ONNX's page.

    `given` are the weights of a direction, `seen` what is multiplied in place of rows.
    """
    w, r, b = given or [one[0] for one in weights("LSTM").values()]
    p_i, p_o, p_f = np.split(peepholes[0], 3)
    hidden = cell = np.zeros((data.shape[1], HIDDEN), "float32")
    steps: list[Array] = []
    for x in seen(data):
        i, o, f, c = np.split(x @ w.T + seen(hidden) @ r.T + b[:20] + b[20:], 4, -1)
        i, f = sigmoid(i + p_i * cell), sigmoid(f + p_f * cell)
        cell = (1 - i if coupled else f) * cell + i * np.tanh(c)
        hidden = sigmoid(o + p_o * cell) * np.tanh(cell)
        steps.append(hidden)
    return np.stack(steps)[:, None]


@pytest.mark.parametrize("coupled", [False, True])
def test_gates_of_lstm_see_the_cell_through_peepholes(coupled: bool) -> None:
    p = random(1, 3 * HIDDEN, seed=4)
    zeros = np.zeros((1, BATCH, HIDDEN), "float32")
    known = {"h0": zeros, "c0": zeros, "P": p}
    model = layer("LSTM", known=known, input_forget=int(coupled))
    steps, hidden, _ = run(model)
    np.testing.assert_allclose(steps, lstm(X, p, coupled=coupled), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(steps[-1], hidden)


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_each_sequence_runs_as_long_as_it_is(op_type: str, direction: str) -> None:
    lengths = [4, 1, 3]
    together = run(layer(op_type, lengths=lengths, direction=direction))
    for at, length in enumerate(lengths):
        own = X[:length, at : at + 1]
        alone = run(layer(op_type, own, direction=direction), own)
        np.testing.assert_allclose(
            together[0][:length, :, at : at + 1], alone[0], rtol=1e-4, atol=1e-6
        )
        assert not together[0][length:, :, at].any()
        for one, other in zip(together[1:], alone[1:], strict=True):
            np.testing.assert_allclose(one[:, at : at + 1], other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("op_type", GATES)
def test_both_directions_are_each_of_them(op_type: str) -> None:
    both = run(layer(op_type, directions=2))
    first = layer(op_type, directions=2, direction="forward")
    for tensor in first.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)[:1]
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    forward = run(first)
    np.testing.assert_allclose(both[0][:, :1], forward[0], rtol=1e-5)
    np.testing.assert_allclose(both[1][:1], forward[1], rtol=1e-5)
    backward = both[0][:, 1]
    np.testing.assert_array_equal(backward[0], both[1][1])  # the last step comes first


@pytest.mark.parametrize("op_type", GATES)
def test_the_batch_may_come_first(op_type: str) -> None:
    turned = X.transpose(1, 0, 2)
    steps, hidden, *_ = run(layer(op_type, turned, layout=1), turned)
    wanted = run(layer(op_type))
    np.testing.assert_allclose(steps, wanted[0].transpose(2, 0, 1, 3), rtol=1e-5)
    np.testing.assert_allclose(hidden, wanted[1].transpose(1, 0, 2), rtol=1e-5)


def rnn(activate: Any) -> Array:
    w, r, b = (one[0] for one in weights("RNN").values())
    hidden = np.zeros((BATCH, HIDDEN), "float32")
    for x in X:
        hidden = activate(x @ w.T + hidden @ r.T + b[:HIDDEN] + b[HIDDEN:])
    return hidden[None]


def settings(name: str, *values: float) -> dict[str, Any]:
    """Return attributes that name an activation, its alpha and its beta."""
    both = zip(("activation_alpha", "activation_beta"), values, strict=False)
    return {"activations": [name], **{key: [value] for key, value in both}}


ACTIVATIONS: list[tuple[dict[str, Any], Callable[[Array], Array]]] = [
    (settings("Affine", 0.5, 0.1), lambda x: 0.5 * x + 0.1),
    (settings("Elu", 2.0), lambda x: np.where(x > 0, x, 2 * (np.exp(x) - 1))),
    (settings("HardSigmoid"), lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    (settings("LeakyRelu"), lambda x: np.where(x < 0, 0.01 * x, x)),
    (settings("Relu"), lambda x: np.maximum(x, 0)),
    (settings("ScaledTanh", 2.0, 0.5), lambda x: 2 * np.tanh(0.5 * x)),
    (settings("Softplus"), lambda x: np.log1p(np.exp(x))),
    (settings("Softsign"), lambda x: x / (1 + np.abs(x))),
    (settings("ThresholdedRelu"), lambda x: np.where(x >= 1, x, 0)),
    (settings("Tanh") | {"clip": 0.5}, lambda x: np.tanh(np.clip(x, -0.5, 0.5))),
]


@pytest.mark.parametrize(("attributes", "meaning"), ACTIVATIONS)
def test_activations_are_those_that_are_named(
    attributes: dict[str, Any], meaning: Callable[[Array], Array]
) -> None:
    _, hidden = run(layer("RNN", **attributes))
    np.testing.assert_allclose(hidden, rnn(meaning), rtol=1e-3, atol=1e-5)


def test_what_onnx_does_not_know_is_a_fault() -> None:
    with pytest.raises(MalformedModelError, match="activation 'swish' is unknown"):
        imported(layer("RNN", activations=["Swish"]))
    with pytest.raises(MalformedModelError, match="expected 3 activations, got 1"):
        imported(layer("LSTM", activations=["Tanh"]))
    with pytest.raises(MalformedModelError, match="direction is 'sideways'"):
        imported(layer("RNN", direction="sideways"))


def on_grid(rows: Array) -> Array:
    """Return numbers next to those given, of the grid of DynamicQuantizeLinear."""
    low, high = min(rows.min(), 0), max(rows.max(), 0)
    scale = (high - low) / np.float32(255) or np.float32(1)
    point = np.clip(np.rint(-low / scale), 0, 255)
    return (np.clip(np.rint(rows / scale) + point, 0, 255) - point) * scale


def quantized(
    dtype: str, columns: int, directions: int = 1, data: Array = X, **more: Array
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Return a quantized layer, with scales for all or for each column; its weights."""
    low = 0 if dtype == "uint8" else -128
    whole = np.random.default_rng(5).integers
    shapes = {"W": (directions, SIZE, 20), "R": (directions, HIDDEN, 20)}
    given = {name: whole(low, low + 256, shape) for name, shape in shapes.items()}
    given = {name: one.astype(dtype) for name, one in given.items()}
    given["B"] = weights("LSTM", directions)["B"]
    scales = (directions, *(() if columns == 1 else (columns,)))
    for name in "WR":
        given[f"{name}_scale"] = 0.01 + 0.01 * np.abs(random(*scales, seed=7))
        given[f"{name}_zero"] = whole(low + 120, low + 136, scales).astype(dtype)
    given |= more
    order = ("W", "R", "B", "lens", "h0", "c0", "P")
    scaling = ("W_scale", "W_zero", "R_scale", "R_zero")
    names = ["X", *(one if one in given else "" for one in (*order, *scaling))]
    node = helper.make_node(
        "DynamicQuantizeLSTM",
        names,
        ["Y", "H", "C"],
        domain="com.microsoft",
        hidden_size=HIDDEN,
        direction="bidirectional" if directions == 2 else "forward",
    )
    model = graph_model([node], {"X": data}, ["Y", "H", "C"], known=given, opset=14)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model, given


def meant(given: dict[str, Array], at: int) -> list[Array]:
    """Return the weights of a direction as numbers, as LSTM has them."""
    found = [
        (given[name][at].astype("float32") - given[f"{name}_zero"][at])
        * given[f"{name}_scale"][at]
        for name in "WR"
    ]
    return [*(one.T for one in found), given["B"][at]]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("columns", [1, 20])
def test_a_quantized_layer_multiplies_bytes_that_are_next_to_its_numbers(
    dtype: str, columns: int
) -> None:
    none = np.zeros((1, 3 * HIDDEN), "float32")
    model, given = quantized(dtype, columns)
    assert str(imported(model)).count('out_dtype="int32"') == 1 + LENGTH
    steps, hidden, _ = run(model)
    wanted = lstm(X, none, given=meant(given, 0), seen=on_grid)
    np.testing.assert_allclose(steps, wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(steps[-1], hidden)
    exact = lstm(X, none, given=meant(given, 0))
    assert 1e-4 < np.abs(steps - exact).max() < 0.1


def test_both_directions_of_a_quantized_layer_have_weights_of_their_own() -> None:
    model, given = quantized("int8", 1, 2)
    steps, *_ = run(model)
    none = np.zeros((1, 3 * HIDDEN), "float32")
    for at, data in enumerate((X, X[::-1])):
        wanted = lstm(data, none, given=meant(given, at), seen=on_grid)
        found = steps[:: 1 if at == 0 else -1, at : at + 1]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_a_quantized_layer_has_peepholes_and_lengths_as_others_have() -> None:
    peepholes = random(1, 3 * HIDDEN, seed=4)
    model, given = quantized("int8", 1, P=peepholes)
    wanted = lstm(X, peepholes, given=meant(given, 0), seen=on_grid)
    np.testing.assert_allclose(run(model)[0], wanted, rtol=1e-4, atol=1e-6)
    lengths = np.array([LENGTH] * BATCH, "int32")
    lengths[1] = 1
    steps, hidden, _ = run(quantized("int8", 1, lens=lengths)[0])
    assert not steps[1:, :, 1].any()
    np.testing.assert_array_equal(hidden[:, 1], steps[0, :, 1])


def test_a_quantized_layer_without_scales_is_a_fault() -> None:
    model, _ = quantized("int8", 1)
    (node,) = model.graph.node
    del node.input[8:]
    with pytest.raises(MalformedModelError, match="expected an input number 9, got no"):
        imported(model)


@pytest.mark.stress
def test_a_layer_of_more_steps_than_ctypes_has_arguments_is_machine_code() -> None:
    length = 1_100
    data = random(length, 1, SIZE)
    mod = imported(layer("RNN", data))
    lib = build(mod, "llvm", workers=0, cache=False)
    assert not lib.numpy_functions
    module = GraphModule(lib["default"](cpu()))
    module.run(X=data)
    w, r, b = (one[0] for one in weights("RNN").values())
    found = module.get_output(0).numpy()[:, 0]
    before = np.concatenate([np.zeros((1, 1, HIDDEN)), found[:-1]])
    wanted = np.tanh(data @ w.T + before @ r.T + b[:HIDDEN] + b[HIDDEN:])
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_too_many_steps_are_refused() -> None:
    data = np.broadcast_to(np.float32(0), (10_001, 1, SIZE))
    with pytest.raises(FrontendError, match=r"at most 10000 steps, .* got 10001"):
        imported(layer("RNN", data))


@pytest.mark.parametrize("op_type", ["GRU", "LSTM", "RNN"])
@pytest.mark.parametrize("shape", [(1, 2), (1, 1, 1, 2)])
def test_data_of_another_rank_is_a_fault_that_names_it(
    op_type: str, shape: tuple[int, ...]
) -> None:
    known = [random(1, 2 * GATES[op_type], 2) for _ in range(2)]
    model = one_node(op_type, random(*shape), *known, known=(1, 2), hidden_size=2)
    message = f"{op_type} 'y'.: expected 3 dimensions for its X, got {len(shape)} .inpu"
    with pytest.raises(MalformedModelError, match=message):
        imported(model)
