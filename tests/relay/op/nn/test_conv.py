from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import IRTypeError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.relay.expr import Call, const
from parpass.relay.op import Op, TypeRelationError, nn
from tests.relay.op.nn.onnx_reference import onnx_value
from tests.support.profiles import examples
from tests.support.relay.op.calls import (
    Array,
    array,
    floats,
    ints,
    related,
    type_of,
    value,
)


def plain_conv2d(data: Array, weight: Array, attrs: Any) -> Array:
    """Return the convolution, by its definition, place by place."""
    top, left, bottom, right = attrs.padding
    data = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)))
    (rows, columns), (down, across) = attrs.strides, attrs.dilation
    channels, inside, high, wide = weight.shape
    height = (data.shape[2] - (high - 1) * down - 1) // rows + 1
    width = (data.shape[3] - (wide - 1) * across - 1) // columns + 1
    result = np.zeros((data.shape[0], channels, height, width), data.dtype)
    for channel in range(channels):
        first = channel // (channels // attrs.groups) * inside
        for i, j in np.ndindex(height, width):
            at = slice(i * rows, i * rows + (high - 1) * down + 1, down)
            to = slice(j * columns, j * columns + (wide - 1) * across + 1, across)
            window = data[:, first : first + inside, at, to]
            result[:, channel, i, j] = (window * weight[channel]).sum(axis=(1, 2, 3))
    return result


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@given(
    size=st.tuples(st.integers(7, 9), st.integers(7, 9)),
    kernel=pairs,
    strides=pairs,
    dilation=pairs,
    padding=st.tuples(*[st.integers(0, 2)] * 4),
    groups=st.sampled_from([1, 2, 4]),
    per_group=st.integers(1, 2),
)
@examples(1.25)
def test_a_convolution_is_what_its_definition_says(
    size: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilation: tuple[int, int],
    padding: tuple[int, ...],
    groups: int,
    per_group: int,
) -> None:
    data = floats(2, 4, *size, dtype="float64")
    weight = floats(groups * per_group, 4 // groups, *kernel, dtype="float64", seed=1)
    call = nn.conv2d(data, weight, strides, padding, dilation, groups)
    found = value(call)
    assert related(call) == type_of(found)
    wanted = plain_conv2d(array(data), array(weight), call.attrs)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize(
    ("groups", "channels", "kernel", "attributes"),
    [
        (1, 4, (3, 3), {"pads": [1, 1, 1, 1]}),
        (1, 4, (1, 1), {"strides": [2, 2]}),
        (4, 8, (3, 3), {"pads": [0, 1, 2, 0], "strides": [1, 2]}),
        (8, 8, (3, 3), {"pads": [1, 1, 1, 1]}),
        (1, 2, (3, 2), {"dilations": [2, 1]}),
    ],
)
def test_a_convolution_is_onnxs(
    groups: int,
    channels: int,
    kernel: tuple[int, int],
    attributes: dict[str, Any],
) -> None:
    data, weight = floats(2, 8, 9, 8), floats(channels, 8 // groups, *kernel, seed=1)
    found = value(
        nn.conv2d(
            data,
            weight,
            strides=attributes.get("strides", 1),
            padding=attributes.get("pads", 0),
            dilation=attributes.get("dilations", 1),
            groups=groups,
        )
    )
    wanted = onnx_value("Conv", array(data), array(weight), group=groups, **attributes)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_uniform_weight_convolves_like_any_other() -> None:
    data = floats(1, 3, 5, 5)
    uniform = np.broadcast_to(np.float32(0.5), (2, 3, 3, 3))
    found = value(nn.conv2d(data, const(uniform), padding=1))
    wanted = value(nn.conv2d(data, const(uniform.copy()), padding=1))
    np.testing.assert_array_equal(found, wanted)


def test_zeros_around_an_image_and_between_elements_are_multiplied() -> None:
    data = const(np.array([[[[1, 2, 3]]]], "float32"))
    weight = const(np.array([[[[1, np.inf]]]], "float32"))
    for call, has_numbers in (
        (nn.conv2d(data, weight, padding=[0, 1]), [True, True, True, False]),
        (nn.conv2d_transpose(data, weight), [False, True, True, True]),
        (nn.conv2d_transpose(data, weight, padding=[0, 1]), [True, True]),
        (nn.conv2d_transpose(data, weight, (1, 2)), [False, True] * 3),
    ):
        assert (~np.isnan(value(call))).ravel().tolist() == has_numbers


def test_the_result_may_have_another_dtype() -> None:
    data, weight = const(np.full((1, 1, 1, 1), 100, "int8")), ints(1, 1, 1, 1)
    narrow = const(array(weight).astype("int8") * 0 + 100)
    found = value(nn.conv2d(data, narrow, out_dtype="int32"))
    assert found.item() == 10_000


@pytest.mark.parametrize(
    ("padding", "stored"),
    [
        (1, (1, 1, 1, 1)),
        ((1, 2), (1, 2, 1, 2)),
        ([1, 2, 3, 4], (1, 2, 3, 4)),
    ],
)
def test_padding_is_stored_for_each_side(padding: Any, stored: tuple[int, ...]) -> None:
    assert nn.conv2d(floats(), floats(), padding=padding).attrs.padding == stored


def test_calls_that_mean_the_same_have_equal_attributes() -> None:
    x = floats()
    one = nn.conv2d(x, x, strides=2, padding=[1, 1], kernel_size=3)
    other = nn.conv2d(x, x, strides=[2, 2], padding=1, kernel_size=(3, 3))
    assert one.attrs == other.attrs


def test_unknown_dimensions_pass_through() -> None:
    unknown = UnknownDim()
    attrs = nn.conv2d(floats(), floats(), padding=1).attrs
    types = [TensorType((unknown, 3, unknown, 8)), TensorType((4, 3, 3, 3))]
    found = Op.get("nn.conv2d").relation(types, attrs)
    assert found == TensorType((unknown, 4, unknown, 8))


DATA, WEIGHT = floats(1, 4, 5, 5), floats(6, 4, 3, 3)

REJECTED: list[tuple[Call, str]] = [
    (
        nn.conv2d(DATA, floats(6, 4, 3)),
        "expected a shape of layout OIHW, got (6, 4, 3)",
    ),
    (
        nn.conv2d(floats(4, 5, 5), WEIGHT),
        "expected a shape of layout NCHW, got (4, 5, 5)",
    ),
    (
        nn.conv2d(DATA, WEIGHT, groups=2),
        "expected 2 x 4 input channels (groups x the weight's), got 4",
    ),
    (
        nn.conv2d(DATA, floats(6, 1, 3, 3), groups=4),
        "expected output channels that 4 groups divide, got 6",
    ),
    (
        nn.conv2d(DATA, WEIGHT, channels=7),
        "expected 7 channels, got Tensor[(6, 4, 3, 3), float32]",
    ),
    (
        nn.conv2d(DATA, WEIGHT, kernel_size=5),
        "expected a kernel of (5, 5), got Tensor[(6, 4, 3, 3), float32]",
    ),
    (
        nn.conv2d(DATA, WEIGHT, dilation=(1, 3)),
        "expected a window of at most 5 (the width with padding), got 7",
    ),
    (
        nn.conv2d(DATA, ints(6, 4, 3, 3)),
        "expected the dtype of argument 1, float32, for argument 2, got int32",
    ),
]


@pytest.mark.parametrize(("call", "words"), REJECTED)
def test_what_does_not_fit_is_rejected(call: Call, words: str) -> None:
    with pytest.raises(TypeRelationError) as caught:
        related(call)
    assert str(caught.value) == words


WRONG: list[tuple[Callable[[], Call], str]] = [
    (
        lambda: nn.conv2d(DATA, WEIGHT, padding=(1, 2, 3)),
        "expected one, two or four ints from 0 on for padding, got (1, 2, 3)",
    ),
    (
        lambda: nn.conv2d(DATA, WEIGHT, strides=0),
        "expected one or two ints of at least 1 for strides, got 0",
    ),
    (
        lambda: nn.conv2d(DATA, WEIGHT, data_layout="NHWD"),
        "expected a layout of NCHW for data_layout, got 'NHWD'",
    ),
    (
        lambda: nn.conv2d(DATA, WEIGHT, out_dtype="floaty"),
        "expected the name of a dtype for out_dtype, got 'floaty'",
    ),
]


@pytest.mark.parametrize(("build", "words"), WRONG)
def test_the_builder_rejects_what_is_wrong_for_every_type(
    build: Callable[[], Call], words: str
) -> None:
    with pytest.raises(IRTypeError) as caught:
        build()
    assert str(caught.value) == words


def test_many_windows_take_little_memory() -> None:
    data, weight = const(np.ones((1, 1, 200, 200))), ints(1, 1, 40, 40)
    kernel = array(weight).astype("float64")
    tracemalloc.start()
    try:
        found = value(nn.conv2d(data, const(kernel)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.shape == (1, 1, 161, 161)
    assert (found == kernel.sum()).all()
    assert peak < 161 * 161 * 40 * 40 * 8 / 2
