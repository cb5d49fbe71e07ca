"""Loops over elements: as long as memory allows, and in vectors where they can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import relay, tir
from parpass.relay.backend.lowering.kernel_builder import kernel
from parpass.relay.type_inference.infer import infer_type
from parpass.target import Target
from parpass.tir.interpreter.evaluation import evaluate
from tests.support.relay.lowered import results_for

# Of eight floats a vector.
EIGHT = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mattr=+avx2")


def var(name: str, *shape: int) -> relay.Var:
    return relay.var(name, shape=shape)


def loops(params: Any, body: Any) -> list[str]:
    """Return the loops of a kernel, the outermost first, once it computes its value."""
    function = infer_type(relay.Function(params, body, attrs={"Primitive": 1}))
    func = kernel(function, "main", EIGHT)
    rng = np.random.default_rng(0)
    buffers = [func.buffer_map[one] for one in func.params[: len(function.params)]]
    shapes = [tuple(dim.value for dim in one.shape) for one in buffers]
    values = [rng.standard_normal(shape).astype("float32") for shape in shapes]
    results = results_for(func)
    evaluate(func, [*values, *results])
    wanted = relay.create_executor().evaluate(function)(*values)
    np.testing.assert_allclose(results[0], wanted.numpy(), 1e-6)
    found: list[str] = []

    def look(node: Any) -> None:
        if isinstance(node, tir.For):
            is_vector = node.kind == tir.ForKind.VECTORIZED
            extent = node.extent.value
            found.append(f"{extent}v" if is_vector else f"{extent}")

    tir.stmt_functor.post_order_visit(func.body, look)
    return found[::-1]


X, Y = var("x", 2, 3, 4, 5), var("y", 2, 3, 4, 5)
VECTORS = [var(f"v{at}", 5) for at in range(5)]


@pytest.mark.parametrize(
    ("params", "body", "wanted"),
    [
        ([X, Y], relay.add(X, Y), ["15", "8v"]),
        ([X], relay.exp(relay.reshape(X, (6, 20))), ["15", "8v"]),
        (
            [X, s := var("s", 3, 1, 1)],
            relay.multiply(X, s),
            ["2", "3", "4v", "2", "8v"],
        ),
        ([X, s := var("s", 5)], relay.multiply(X, s), ["24", "5v"]),
        ([X], relay.transpose(X, (0, 2, 3, 1)), ["2", "20", "3"]),
        ([X], relay.transpose(X, (1, 0, 2, 3)), ["3", "2", "4v", "2", "8v"]),
        ([X, Y], relay.concatenate([X, Y], 1), ["2", "4v", "7", "8v"] * 2),
        ([X, Y], relay.stack([X, Y], 1), ["2", "4v", "7", "8v"] * 2),
        (VECTORS, relay.transpose(relay.stack(VECTORS, 0)), ["5", "5", *["5v"] * 5]),
        ([X], relay.tile(X, (1, 1, 1, 3)), ["24", "3", "5v"]),
        ([X], relay.repeat(X, 2, 3), ["24", "5", "2v"]),
        ([X], relay.repeat(X, 2, 2), ["6", "4", "2", "5v"]),
        ([X], relay.reverse(X, 3), ["24", "5"]),
        (
            [row := var("row", 3, 40)],
            relay.strided_slice(row, (0, 1), (3, 40), (1, 4)),
            ["3", "2v", "8v"],
        ),
        ([row], relay.strided_slice(row, (0, 1), (3, 40), (1, 5)), ["3", "8"]),
        ([row], relay.trilu(row, relay.const(1), upper=True), ["3", "5", "8v"]),
        ([X], relay.nn.pad(X, ((0, 0), (0, 0), (1, 1), (0, 0))), ["6", "6", "5"]),
        ([s := var("s", 1, 1)], relay.exp(s), []),
    ],
    ids=[
        *("all at once", "reshaped", "channels", "last", "last moves", "first moves"),
        *("concatenated", "stacked", "joined of many"),
        *("tiled", "repeated", "rows repeated", "reversed"),
        *("every fourth", "every fifth", "triangle", "padded"),
        "one element",
    ],
)
def test_dimensions_are_joined_and_the_last_one_is_run_in_vectors(
    params: Any, body: Any, wanted: list[str]
) -> None:
    assert loops(params, body) == wanted


def test_a_vector_is_of_as_many_elements_as_a_register_has_of_the_widest():
    x = relay.var("x", shape=(32,), dtype="float32")
    function = infer_type(relay.Function([x], relay.cast(x, "float64")))
    func = kernel(function, "main", EIGHT)
    assert isinstance(func.body, tir.For)
    assert func.body.extent.value == 8
