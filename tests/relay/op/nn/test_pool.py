from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.relay.expr import const
from parpass.relay.op import Op, TypeRelationError, nn
from tests.relay.op.nn.onnx_reference import onnx_value
from tests.support.profiles import examples
from tests.support.relay.op.calls import (
    array,
    bools,
    floats,
    ints,
    related,
    type_of,
    value,
)

GEOMETRIES: list[dict[str, Any]] = [
    {"kernel_shape": [2, 2]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [0, 0, 1, 1]},
    {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1]},
]


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_max_pooling_is_onnxs(geometry: dict[str, Any]) -> None:
    data = floats(2, 3, 7, 6)
    found = value(
        nn.max_pool2d(
            data,
            geometry["kernel_shape"],
            geometry.get("strides", 1),
            padding=geometry.get("pads", 0),
        )
    )
    np.testing.assert_array_equal(found, onnx_value("MaxPool", array(data), **geometry))


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("include", [False, True])
def test_average_pooling_is_onnxs(geometry: dict[str, Any], include: bool) -> None:
    data = floats(2, 3, 7, 6)
    found = value(
        nn.avg_pool2d(
            data,
            geometry["kernel_shape"],
            geometry.get("strides", 1),
            padding=geometry.get("pads", 0),
            count_include_pad=include,
        )
    )
    wanted = onnx_value(
        "AveragePool", array(data), count_include_pad=int(include), **geometry
    )
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_dilated_window_skips_elements() -> None:
    data = floats(1, 1, 6, 6)
    found = value(nn.max_pool2d(data, 2, dilation=(3, 2)))
    image = array(data)[0, 0]
    wanted = [
        [max(image[i, j], image[i, j + 2], image[i + 3, j], image[i + 3, j + 2])
         for j in range(4)]
        for i in range(3)
    ]  # fmt: skip
    np.testing.assert_array_equal(found[0, 0], wanted)


def test_in_ceil_mode_the_last_window_sticks_out() -> None:
    data = const(np.arange(25, dtype="float32").reshape(1, 1, 5, 5))
    highest = value(nn.max_pool2d(data, 2, 2, ceil_mode=True))
    assert highest[0, 0].tolist() == [[6, 8, 9], [16, 18, 19], [21, 23, 24]]
    mean = value(nn.avg_pool2d(data, 2, 2, ceil_mode=True))
    assert mean[0, 0, 2].tolist() == [20.5, 22.5, 24]
    assert value(nn.max_pool2d(data, 2, 2)).shape == (1, 1, 2, 2)


def test_padding_never_is_the_largest() -> None:
    data = const(np.full((1, 1, 2, 2), -7, "int32"))
    assert value(nn.max_pool2d(data, 3, padding=1)).max() == -7


def test_global_pooling_takes_the_whole_image() -> None:
    data = floats(2, 3, 4, 5)
    highest, mean = value(nn.global_max_pool2d(data)), value(nn.global_avg_pool2d(data))
    assert highest.shape == mean.shape == (2, 3, 1, 1)
    np.testing.assert_array_equal(highest[..., 0, 0], array(data).max(axis=(2, 3)))
    np.testing.assert_allclose(
        mean, onnx_value("GlobalAveragePool", array(data)), rtol=1e-5, atol=1e-6
    )


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@given(pairs, pairs, pairs, st.tuples(*[st.integers(0, 2)] * 4), st.booleans())
@examples(2)
def test_the_type_is_that_of_the_pooled_image(
    size: tuple[int, int],
    strides: tuple[int, int],
    dilation: tuple[int, int],
    padding: tuple[int, ...],
    ceil_mode: bool,
) -> None:
    for build in (nn.max_pool2d, nn.avg_pool2d):
        call = build(
            floats(1, 2, 8, 7), size, strides, dilation, padding, ceil_mode=ceil_mode
        )
        assert related(call) == type_of(value(call))


def test_unknown_dimensions_pass_through() -> None:
    unknown = UnknownDim()
    attrs = nn.max_pool2d(floats(), 2, 2).attrs
    types = [TensorType((unknown, 3, unknown, 8))]
    found = Op.get("nn.max_pool2d").relation(types, attrs)
    assert found == TensorType((unknown, 3, unknown, 4))


def test_what_does_not_fit_is_rejected() -> None:
    with pytest.raises(TypeRelationError) as caught:
        related(nn.max_pool2d(floats(1, 2, 4, 9), 7, padding=1))
    assert str(caught.value) == (
        "expected a window of at most 6 (the height with padding), got 7"
    )
    with pytest.raises(TypeRelationError, match="expected a shape of layout NCHW"):
        related(nn.global_avg_pool2d(floats(1, 2, 4)))
    with pytest.raises(TypeRelationError, match="expected a tensor of floats"):
        related(nn.avg_pool2d(ints(1, 2, 4, 4)))
    with pytest.raises(TypeRelationError, match="expected a tensor of numbers"):
        related(nn.max_pool2d(bools(1, 2, 4, 4)))
