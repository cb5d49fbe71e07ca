from __future__ import annotations

import numpy as np
import pytest

from parpass.errors import IRTypeError
from parpass.ir.types import TensorType
from parpass.relay import op
from parpass.relay.expr import Call, Constant, const
from parpass.runtime.ndarray import NDArray
from tests.support.relay.op.calls import floats, ints, related, value

UNIFORM: list[tuple[Call, float, tuple[int, ...], str]] = [
    (op.full(2.5, (2, 3)), 2.5, (2, 3), "float32"),
    (op.full(const(7), [4], "int8"), 7, (4,), "int8"),
    (op.full(True, 4), True, (4,), "bool"),
    (op.zeros((2,), "float64"), 0, (2,), "float64"),
    (op.ones((2, 2), "int32"), 1, (2, 2), "int32"),
    (op.full_like(ints(2, 3), 5), 5, (2, 3), "int32"),
    (op.zeros_like(floats(3)), 0, (3,), "float32"),
    (op.ones_like(ints(3)), 1, (3,), "int32"),
]


@pytest.mark.parametrize(("call", "number", "shape", "dtype"), UNIFORM)
def test_all_elements_are_the_one_value(
    call: Call, number: float, shape: tuple[int, ...], dtype: str
) -> None:
    found = value(call)
    np.testing.assert_array_equal(found, np.full(shape, number, dtype), strict=True)


@pytest.mark.parametrize("call", [call for call, *_ in UNIFORM])
def test_the_value_is_repeated_without_taking_memory(call: Call) -> None:
    found = NDArray(value(call))
    assert found.is_uniform


def test_a_uniform_tensor_stays_so_through_views() -> None:
    big = op.full(1.0, (1 << 20, 1 << 10, 4))
    moved = op.transpose(op.expand_dims(op.reshape(big, (-1, 8)), 0))
    assert Constant(NDArray(value(moved))).data.is_uniform


def test_zero_arguments_are_enough_for_zeros_and_ones() -> None:
    assert op.zeros((2,), "int8").args == ()
    assert op.ones((2,), "int8").args == ()


def test_the_fill_value_must_be_a_scalar() -> None:
    with pytest.raises(op.TypeRelationError) as caught:
        related(op.full(floats(2), (3,)))
    assert str(caught.value) == (
        "expected 0 dimensions for the fill value, got Tensor[(2,), float32]"
    )
    with pytest.raises(op.TypeRelationError):
        related(op.full_like(floats(3), floats(2)))


def test_full_like_casts_its_fill_value_to_the_dtype_of_the_data() -> None:
    call = op.full_like(ints(3), 2.5)
    assert related(call) == TensorType((3,), "int32")
    np.testing.assert_array_equal(value(call), np.full(3, 2, "int32"), strict=True)


def test_a_shape_is_made_of_ints() -> None:
    with pytest.raises(IRTypeError, match=r"^expected ints for shape, got \(2, 1.5\)$"):
        op.zeros((2, 1.5), "int8")  # pyright: ignore[reportArgumentType]
