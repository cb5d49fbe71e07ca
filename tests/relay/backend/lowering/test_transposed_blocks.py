"""What is read across is transposed by blocks, wherever that is in a kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay, tir
from parpass.ir.node import post_order
from parpass.relay.expr import Constant, Expr, const
from parpass.runtime.dtypes import numpy_dtype
from tests.support.profiles import examples
from tests.support.relay.lowered import interpreted, lowered
from tests.support.relay.op.calls import Array
from tests.support.relay.op.rules_of_lowering import by_machine, meaning
from tests.support.special_floats import assert_same_bits, specials


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> Constant:
    """Return numbers that differ from their neighbours; of floats some are special."""
    kind, count = numpy_dtype(dtype), math.prod(shape)
    counted = np.arange(seed, seed + count) % 251
    if kind.kind in "biu":
        return const(
            (counted % 2 if dtype == "bool" else counted).astype(kind).reshape(shape)
        )
    special = specials(dtype)
    values = counted.astype("float32").astype(kind)
    values[::7] = np.resize(special, len(values[::7]))
    return const(values.reshape(shape))


def sizes_of_blocks(built: Any) -> list[int]:
    """Return how many elements the blocks in a kernel have."""
    function, _ = lowered(built)
    return [
        math.prod(int(one) for one in node.extents)
        for node in post_order(function)
        if isinstance(node, tir.Allocate) and node.buffer_var.name == "block"
    ]


def assert_computes(built: Expr) -> None:
    """Compare to the bit what a kernel computes, in two ways, with the meaning."""
    wanted: Array
    (wanted,) = meaning(built)
    for run in (interpreted, by_machine):
        (found,) = run(built)
        assert_same_bits(found, wanted)


X = numbers(20, 33)
IMAGE = numbers(2, 16, 5, 7)

# By whole blocks, with rows, columns or both left over; of some that are smaller, since
# fewer are left over then; of several operands, and with other operators around it.
CASES: dict[str, tuple[Expr, list[int]]] = {
    "whole": (relay.transpose(numbers(32, 16)), [64]),
    "left over": (relay.transpose(X), [64]),
    "smaller": (relay.transpose(numbers(12, 20)), [16]),
    "too few": (relay.transpose(numbers(3, 70)), []),
    "channels last": (relay.transpose(IMAGE, (0, 2, 3, 1)), [64]),
    "few in the last": (relay.transpose(numbers(3, 9, 2, 10), (1, 2, 3, 0)), []),
    "into blocks of channels": (
        relay.layout_transform(numbers(1, 32, 6, 6), "NCHW", "NCHW16c"),
        [64],
    ),
    "out of them": (
        relay.layout_transform(numbers(1, 2, 6, 6, 16), "NCHW16c", "NCHW"),
        [64],
    ),
    "the first one is last": (relay.transpose(numbers(9, 3, 10), (1, 2, 0)), [64]),
    "all turned around": (relay.transpose(numbers(9, 3, 10)), [64]),
    "behind another operator": (relay.transpose(relay.negative(X)), [64]),
    "before another": (relay.add(relay.transpose(X), numbers(20, seed=9)), [64]),
    "with what is not": (relay.add(relay.transpose(X), numbers(33, 20)), [64]),
    "two": (
        relay.add(relay.transpose(X), relay.transpose(numbers(20, 33, seed=5))),
        [64] * 2,
    ),
    "of two dtypes": (relay.cast(relay.transpose(X), "float64"), [64]),
}


@pytest.mark.parametrize("case", CASES)
def test_blocks_are_transposed(case: str) -> None:
    built, sizes = CASES[case]
    assert_computes(built)
    assert sizes_of_blocks(built) == sizes


@st.composite
def transpositions(draw: st.DrawFn) -> Expr:
    dtypes = ["uint8", "bool", "float16", "bfloat16", "float32", "int64", "float64"]
    dtype = draw(st.sampled_from(dtypes))
    lengths = st.sampled_from([1, 2, 4, 5, 8, 15, 16, 17, 33])
    shape = draw(st.lists(lengths, min_size=2, max_size=4).filter(is_small))
    axes = draw(st.permutations(range(len(shape))))
    return relay.transpose(numbers(*shape, dtype=dtype), axes)


def is_small(shape: list[int]) -> bool:
    return math.prod(shape) <= 20_000


@given(transpositions())
@examples(0.3)
def test_every_transposition_moves_each_element(built: Expr) -> None:
    assert_computes(built)


@pytest.mark.stress
@given(transpositions())
@examples(5)
def test_every_transposition_moves_each_element_of_many(built: Expr) -> None:
    assert_computes(built)
