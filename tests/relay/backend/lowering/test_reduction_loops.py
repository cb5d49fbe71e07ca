"""Sums and the like, by the lanes of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import relay, tir
from parpass.ir.node import post_order
from parpass.relay.expr import const
from parpass.relay.op import nn
from tests.support.relay.lowered import interpreted, lowered
from tests.support.relay.op.calls import Array
from tests.support.relay.op.rules_of_lowering import by_machine, meaning


def numbers(*shape: int, dtype: str = "float32") -> Array:
    """Return numbers; ints are so large that sums of them wrap around."""
    rng = np.random.default_rng(sum(shape))
    if np.issubdtype(dtype, np.integer):
        return rng.integers(-(2**30), 2**30, shape, dtype)
    return rng.standard_normal(shape).astype(dtype)


def data(*shape: int, dtype: str = "float32") -> relay.Constant:
    return const(numbers(*shape, dtype=dtype))


def vector_lanes(built: Any) -> set[int]:
    """Return how many rounds its vectorized loops have."""
    function, _ = lowered(built)
    return {
        int(one.extent)
        for one in post_order(function)
        if isinstance(one, tir.For) and one.kind == tir.ForKind.VECTORIZED
    }


# Of neighbours, with some that are left over; of several dimensions, as one, or not;
# of columns; of fewer than are a vector.
CASES: dict[str, Any] = {
    "a row": relay.sum(data(3, 1000), 1),
    "a whole": relay.mean(data(5, 7, 11)),
    "planes": relay.max(data(2, 3, 9, 13), (2, 3)),
    "columns": relay.sum(data(9, 77), 0),
    "columns of planes": relay.min(data(5, 6, 70), (0,)),
    "dimensions apart": relay.sum(data(5, 3, 37), (0, 2)),
    "few": relay.prod(data(4, 3), 1),
    "every other": relay.sum(
        relay.strided_slice(data(40, 81), [0, 1], [40, 81], [1, 2]), 1
    ),
    "ints": relay.sum(data(3, 101, dtype="int32"), 1),
    "columns of ints": relay.max(data(9, 77, dtype="int64"), 0),
    "half floats": relay.mean(data(9, 77, dtype="float16"), 1),
    "what is computed": relay.sum(relay.exp(relay.negative(data(3, 100))), 1),
    "a variance": relay.variance(data(4, 90), 1),
    "softmax": nn.softmax(data(3, 77)),
    "log_softmax": nn.log_softmax(data(3, 77)),
    "softmax of channels": nn.softmax(data(2, 21, 5), 1),
    "softmax of images": nn.softmax(data(2, 21, 9, 13), 1),
    "softmax of columns": nn.softmax(data(9, 77), 0),
    "the place of the largest": relay.argmax(data(5, 100), 1),
    "places in columns": relay.argmin(data(9, 77), 0),
    "places of what is computed": relay.argmax(relay.exp(data(5, 99)), 1),
    "the last place": relay.argmax(
        data(5, 80, dtype="int32"), 1, select_last_index=True
    ),
    "places in planes": relay.argmax(data(3, 9, 13), (1, 2)),
    "a norm": nn.l2_normalize(data(3, 77), 1e-5, axis=[1]),
    "a global pooling": nn.global_max_pool2d(data(2, 3, 9, 13)),
    "an einsum of columns": relay.einsum([data(3, 5, 7), data(7, 48)], "abc,cd->abd"),
    "layer_norm": nn.layer_norm(data(4, 77), data(77), data(77)),
}


@pytest.mark.parametrize("name", CASES)
def test_machine_code_joins_what_numpy_does(name: str):
    built = CASES[name]
    (wanted,), (found,) = meaning(built), by_machine(built)
    digits = {"float16": 1e-3, "float32": 1e-5}.get(wanted.dtype.name, 0)
    np.testing.assert_allclose(found, wanted, rtol=digits, atol=digits)


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1])
def test_no_step_reads_out_of_bounds_or_what_nobody_wrote(axis: int):
    built = relay.sum(data(9, 11), axis)
    np.testing.assert_allclose(interpreted(built)[0], meaning(built)[0], rtol=1e-5)


@pytest.mark.parametrize("at", range(0, 100, 7))
@pytest.mark.parametrize("axis", [0, 1])
def test_one_nan_in_whatever_lane_is_in_the_result(axis: int, at: int):
    values = numbers(100, 100)
    values[at, at] = np.nan
    (softened,) = by_machine(nn.softmax(const(values), axis))
    lost = np.isnan(softened).all(axis)
    assert np.flatnonzero(lost).tolist() == [at]
    assert np.isnan(softened).sum() == 100
    for reduce in (relay.sum, relay.max, relay.min):
        (found,) = by_machine(reduce(const(values), axis))
        assert np.isnan(found[at])
        assert np.isnan(found).sum() == 1


def test_elements_that_are_no_neighbours_are_joined_one_by_one():
    apart = relay.strided_slice(data(40, 200), [0, 0], [40, 200], [1, 5])
    assert not vector_lanes(relay.sum(apart, 1))
    assert vector_lanes(relay.sum(data(40, 40), 1))
    assert vector_lanes(nn.softmax(data(9, 40), 0))
    assert vector_lanes(relay.argmax(data(40, 40), 1))
