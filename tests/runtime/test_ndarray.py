from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parpass.ir import wire
from parpass.ir.module import IRModule
from parpass.relay.expr import Constant, Function, const
from parpass.runtime.dtypes import numpy_dtype
from parpass.runtime.ndarray import NDArray
from parpass.runtime.ndarray import array as nd_array
from parpass.transform import PassContext, function_pass
from tests.conftest import RunnerOf
from tests.support.relay.op.calls import Array
from tests.support.runner.pooled import pooled

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


def test_the_callers_array_stays_writable_and_is_another():
    mine = np.zeros(3)
    taken = NDArray(mine), NDArray(mine[::-1]), nd_array(mine)
    mine[:] = 1
    for one in taken:
        assert not one.numpy().any()


VALUES: list[Any] = [
    3,
    [1.0, 2.0],
    np.zeros((2, 3)),
    np.zeros((2, 3), order="F"),
    np.zeros((0, 3)),
    np.zeros(3, ">f4"),
    np.zeros(3, numpy_dtype("bfloat16")),
    np.broadcast_to(np.float32(1), (4, 5)),
    np.frombuffer(bytes(8), "f4"),
    np.frombuffer(bytearray(8), "f4"),
]


def owning(value: Any) -> NDArray:
    return NDArray.owning(np.asarray(value))


@pytest.mark.parametrize("make", [NDArray, owning])
@pytest.mark.parametrize("value", VALUES)
def test_no_flag_makes_the_memory_writable(value: Any, make: Callable[[Any], NDArray]):
    made = make(value)
    written = make(value)
    written.writable()
    for one in made, pickle.loads(pickle.dumps(made)), written:
        array: Any = one.numpy()
        assert one == made
        while isinstance(array, np.ndarray):
            with pytest.raises(ValueError, match="cannot set WRITEABLE"):
                array.flags.writeable = True
            array = array.base
        assert memoryview(array).readonly


@pytest.mark.parametrize("make", [NDArray, NDArray.owning])
def test_memory_that_nobody_can_write_to_is_not_copied(make: Callable[[Any], NDArray]):
    given = np.frombuffer(bytes(64), "f4").reshape(4, 4)
    assert np.shares_memory(make(given).numpy(), given)
    assert np.shares_memory(make(make(given[1:]).numpy()).numpy(), given)


def test_a_view_to_read_of_what_can_be_written_is_copied():
    memory = bytearray(8)
    made = NDArray(np.frombuffer(memoryview(memory).toreadonly(), "f4"))
    locked: Any = np.zeros(2, "f4")
    locked.flags.writeable = False
    other = NDArray(np.asarray(memoryview(locked)))
    memory[:] = bytes([1] * 8)
    locked.flags.writeable = True
    locked[:] = 1
    assert not made.numpy().any()
    assert not other.numpy().any()


def test_an_array_of_a_constant_is_not_copied_again():
    given = NDArray.owning(np.ones((4, 4))).numpy()
    assert np.shares_memory(NDArray(given[1:]).numpy(), given)


def test_an_array_that_is_given_up_is_not_copied():
    given = np.ones((4, 4))
    assert np.shares_memory(NDArray.owning(given).numpy(), given)


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
    packed = wire.encode(Function((), Constant(here)), blob_sink)
    body = wire.decode(packed, [Copied(here.raw().tobytes())]).body
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


def test_arrays_of_one_value_but_for_one_element_have_digests_of_their_own():
    arrays = [np.zeros(100_000, "int64") for _ in range(4)]
    for array, at in zip(arrays[1:], (0, 70_000, 99_999), strict=True):
        array[at] = 1
    assert len({NDArray(array).digest() for array in arrays}) == 4


def test_what_a_digest_takes_is_bounded_by_the_memory_not_by_the_shape():
    huge = NDArray(np.broadcast_to(np.int8(1), (2**31, 2**31)))
    assert (
        huge.digest() != NDArray(np.broadcast_to(np.int8(1), (2**31, 2**30))).digest()
    )


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


@function_pass(opt_level=0)
def writes_to_constants(func: Function, mod: Any, ctx: PassContext) -> Function:
    """Writes to the array of a constant, once it has made it writable."""
    assert isinstance(func.body, Constant)
    array = func.body.data.numpy()
    array.flags.writeable = True
    array[0] = 7
    return func


@pytest.mark.parametrize("workers", [0, 2])
def test_a_pass_cannot_change_a_constant_of_its_input(
    workers: int, runner_of: RunnerOf
):
    mod = IRModule.from_expr(Function((), const(np.zeros(3))))
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        runner_of(workers).run_sync(mod, writes_to_constants, context=pooled())
    assert not mod["main"].body.data.numpy().any()
