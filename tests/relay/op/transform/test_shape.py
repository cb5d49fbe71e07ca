from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import IRTypeError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.relay import op
from parpass.relay.expr import Call, Function, var
from parpass.runtime.devices import cpu
from tests.support.profiles import examples
from tests.support.relay.op.calls import array, floats, related, type_of, value

DATA = floats(2, 3, 4)
VALUES = array(DATA)

MEANINGS: list[tuple[Call, Any]] = [
    (op.reshape(DATA, (6, 4)), VALUES.reshape(6, 4)),
    (op.reshape(DATA, (0, -1)), VALUES.reshape(2, 12)),
    (op.reshape(DATA, (-1, 0)), VALUES.reshape(8, 3)),
    (op.reshape(DATA, -1), VALUES.ravel()),
    (op.transpose(DATA), VALUES.T),
    (op.transpose(DATA, (-1, 0, 1)), np.moveaxis(VALUES, -1, 0)),
    (op.expand_dims(DATA, 1), VALUES[:, None]),
    (op.expand_dims(DATA, -1, 2), VALUES[..., None, None]),
    (op.squeeze(op.expand_dims(DATA, 1), 1), VALUES),
    (op.squeeze(op.expand_dims(DATA, 0, 3)), VALUES),
    (op.broadcast_to(DATA, (5, 2, 3, 4)), np.stack([VALUES] * 5)),
    (op.shape_of(DATA), np.array([2, 3, 4], "int32")),
    (op.vm.shape_of(DATA), np.array([2, 3, 4], "int64")),
    (op.ndarray_size(DATA), np.array(24, "int32")),
    (op.shape_of(floats(2, 300), "int8"), np.array([2, 44], "int8")),
    (op.vm.shape_of(floats(2, 300), "uint8"), np.array([2, 44], "uint8")),
    (op.ndarray_size(floats(8, 16), "int8"), np.array(-128, "int8")),
    (op.ndarray_size(floats(257, 256), "float16"), np.array(np.inf, "float16")),
    (op.annotation.on_device(DATA, "cuda"), VALUES),
    (op.device_copy(DATA, 1, 2), VALUES),
]


@pytest.mark.parametrize(("call", "wanted"), MEANINGS)
def test_the_meaning_is_numpys(call: Call, wanted: Any) -> None:
    np.testing.assert_array_equal(value(call), wanted, strict=True)


@given(st.permutations([2, 3, 4, 1]), st.data())
@examples(2)
def test_a_reshaped_type_is_that_of_the_reshaped_array(
    shape: list[int], data: st.DataObject
) -> None:
    newshape = list(data.draw(st.permutations([6, 2, 2])))
    newshape[data.draw(st.integers(0, 2))] = -1
    call = op.reshape(floats(*shape), newshape)
    assert related(call) == type_of(value(call))


UNKNOWN = UnknownDim()

PARTLY_KNOWN: list[tuple[Call, tuple[Any, ...], tuple[Any, ...]]] = [
    (op.reshape(DATA, (0, -1)), (UNKNOWN, 3, 4), (UNKNOWN, 12)),
    (op.reshape(DATA, (-1, 4)), (UNKNOWN, 4), (UNKNOWN, 4)),
    (op.transpose(DATA), (UNKNOWN, 3), (3, UNKNOWN)),
    (op.expand_dims(DATA, 0), (UNKNOWN, 3), (1, UNKNOWN, 3)),
    (op.squeeze(DATA, 0), (UNKNOWN, 3), (3,)),
    (op.broadcast_to(DATA, (2, 3)), (UNKNOWN,), (2, 3)),
]


@pytest.mark.parametrize(("call", "shape", "wanted"), PARTLY_KNOWN)
def test_unknown_dimensions_pass_through(
    call: Call, shape: tuple[Any, ...], wanted: tuple[Any, ...]
) -> None:
    assert isinstance(call.op, op.Op)
    found = call.op.relation([TensorType(shape)], call.attrs)
    assert found == TensorType(wanted)


REJECTED: list[tuple[Call, str]] = [
    (
        op.reshape(DATA, (5, 5)),
        "expected a newshape of 24 elements for (2, 3, 4), got (5, 5)",
    ),
    (
        op.reshape(DATA, (5, -1)),
        "expected a newshape of 24 elements for (2, 3, 4), got (5, -1)",
    ),
    (
        op.reshape(DATA, (2, 3, 4, 0)),
        (
            "expected newshape to read at most 3 dimensions of (2, 3, 4), got "
            "(2, 3, 4, 0)"
        ),
    ),
    (op.transpose(DATA, (0, 1)), "expected 3 axes, got (0, 1)"),
    (op.transpose(DATA, (0, 1, 1)), "expected different axes, got (0, 1, 1)"),
    (op.expand_dims(DATA, 4), "expected an axis of 4 dimensions, got 4"),
    (
        op.squeeze(DATA, 1),
        "expected length 1 at the axes (1,) to squeeze, got Tensor[(2, 3, 4), float32]",
    ),
    (
        op.broadcast_to(DATA, (2, 3, 5)),
        "expected a shape that broadcasts to (2, 3, 5), got Tensor[(2, 3, 4), float32]",
    ),
    (
        op.broadcast_to(DATA, (4,)),
        "expected a shape that broadcasts to (4,), got Tensor[(2, 3, 4), float32]",
    ),
]


@pytest.mark.parametrize(("call", "words"), REJECTED)
def test_what_does_not_fit_is_rejected(call: Call, words: str) -> None:
    with pytest.raises(op.TypeRelationError) as caught:
        related(call)
    assert str(caught.value) == words


def test_squeezing_unknown_dimensions_needs_an_axis() -> None:
    call = op.squeeze(DATA)
    with pytest.raises(op.TypeRelationError, match="expected the axis to squeeze from"):
        op.Op.get("squeeze").relation([TensorType((UNKNOWN, 3))], call.attrs)


def test_a_function_says_on_which_devices_it_is() -> None:
    x = var("x", shape=(2,))
    function = Function((x,), op.annotation.on_device(x, cpu(), is_fixed=True))
    on_devices = op.annotation.function_on_device(function, ["cuda"], cpu(0))
    assert on_devices.attributes == {
        "param_device_types": (2,),
        "result_device_type": 1,
    }
    assert on_devices.body is function.body
    assert isinstance(function.body, Call)
    assert function.body.attrs == op.annotation.OnDeviceAttrs(1, True)
    with pytest.raises(IRTypeError, match="expected 1 devices, one for each parameter"):
        op.annotation.function_on_device(function, [], "cpu")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: op.reshape(DATA, (-1, -1)),
            "expected ints from -4 on and one -1 at most, got (-1, -1)",
        ),
        (
            lambda: op.expand_dims(DATA, 0, -1),
            "expected num_newaxis from 0 on, got -1",
        ),
        (
            lambda: op.annotation.on_device(DATA, "vulcan"),
            "no device named 'vulcan'; did you mean 'vulkan'?",
        ),
    ],
)
def test_builders_reject_what_is_wrong_for_every_type(
    build: Callable[[], Call], words: str
) -> None:
    with pytest.raises(IRTypeError) as caught:
        build()
    assert str(caught.value) == words
