from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parpass.ir import function_codec
from parpass.relay.expr import Constant, Function
from parpass.runtime.ndarray import NDArray
from tests.support.op_calls import Array

Change = Callable[[Array], Array]


class Copied:
    """Where the bytes of an array are that came from another process."""

    original = None

    def __init__(self, content: bytes) -> None:
        self.content = content

    def fetch(self) -> memoryview:
        return memoryview(self.content)


def test_the_array_can_only_be_read():
    array = NDArray(np.zeros(3)).numpy()
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_the_callers_array_stays_writable():
    mine = np.zeros(3)
    NDArray(mine)
    mine[0] = 1


CHANGES: list[Change] = [
    lambda a: a.T,
    lambda a: a[:, ::2],
    lambda a: a[::-1],
    lambda a: np.asfortranarray(a)[1:],
    lambda a: a.astype(">f4"),
    lambda a: a[:0].T,
    lambda a: np.broadcast_to(a[0], (5, 6)),
]


@pytest.mark.parametrize("make", CHANGES)
@pytest.mark.parametrize("large", [False, True])
def test_elements_lie_as_they_do_after_a_journey(make: Change, *, large: bool):
    rng = np.random.default_rng(0)
    given = make(rng.standard_normal((4, 6)).astype("float32"))
    kept: list[Any] = []

    def blob_sink(value: Any) -> int | None:
        kept.append(value)
        return 0 if large else None

    here = NDArray(given)
    packed = function_codec.encode(Function((), Constant(here)), blob_sink)
    body = function_codec.decode(packed, [Copied(here.raw().tobytes())]).body
    assert isinstance(body, Constant)
    there = body.data
    assert all(one is here for one in kept)
    one, other = here.numpy(), there.numpy()
    assert (one.strides, one.dtype.str) == (other.strides, other.dtype.str)
    assert (
        one.tobytes() == other.tobytes() == np.ascontiguousarray(given, "<f4").tobytes()
    )
    assert one.flags.c_contiguous


def test_content_is_compared_bit_by_bit():
    nan = NDArray(np.array([np.nan, 1.0]))
    assert nan == NDArray(np.array([np.nan, 1.0]))
    assert NDArray(np.array(0.0)) != NDArray(np.array(-0.0))
    assert NDArray(np.zeros(2)) != NDArray(np.zeros(3))
    assert NDArray(np.zeros(2, "int32")) != NDArray(np.zeros(2, "float32"))
    assert NDArray(np.zeros(2)) != np.zeros(2).tolist()


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 0, 3), (1000, 1001)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_a_uniform_array_equals_the_same_array_in_memory(
    shape: tuple[int, ...], dtype: str
):
    full = NDArray(np.full(shape, 1, dtype))
    uniform = NDArray(np.broadcast_to(np.ones((), dtype), shape))
    assert uniform == full == uniform
    assert hash(uniform) == hash(full)
    assert uniform.digest() == full.digest()


def test_equal_arrays_of_different_strides_have_one_hash_and_digest():
    values = np.arange(12.0).reshape(3, 4)
    plain, turned = NDArray(values), NDArray(np.asfortranarray(values))
    assert plain == turned
    assert hash(plain) == hash(turned)
    assert plain.digest() == turned.digest()


def test_a_digest_tells_shape_dtype_and_values_apart():
    arrays = [np.zeros(4), np.zeros((2, 2)), np.zeros(4, "int64"), np.ones(4)]
    assert len({NDArray(array).digest() for array in arrays}) == 4


def test_a_uniform_array_travels_as_one_value():
    uniform = NDArray(np.broadcast_to(np.float32(2), (1000, 1000)))
    encoded = pickle.dumps(uniform)
    assert len(encoded) < 1000
    again = pickle.loads(encoded)
    assert again == uniform
    assert again.is_uniform


def test_an_array_travels_outside_of_the_pickle_without_a_copy():
    buffers: list[pickle.PickleBuffer] = []
    array = NDArray(np.arange(1000.0))
    encoded = pickle.dumps(array, protocol=5, buffer_callback=buffers.append)
    assert len(encoded) < 1000
    assert pickle.loads(encoded, buffers=buffers) == array


def test_repr_shows_shape_and_dtype():
    assert repr(NDArray(np.zeros((2, 3)))) == "NDArray(shape=(2, 3), dtype=float64)"
