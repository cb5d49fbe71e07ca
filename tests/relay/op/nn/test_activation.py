from __future__ import annotations

import numpy as np
import pytest

from parpass.errors import IRTypeError
from parpass.relay.expr import const
from parpass.relay.op import TypeRelationError, nn
from tests.relay.op.nn.onnx_reference import onnx_value
from tests.support.relay.op.calls import array, floats, ints, related, value


def test_relu_is_onnxs_and_keeps_integers() -> None:
    data = floats(2, 3)
    np.testing.assert_array_equal(
        value(nn.relu(data)), onnx_value("Relu", array(data)), strict=True
    )
    assert value(nn.relu(const(np.array([-3, 3])))).tolist() == [0, 3]


def test_leaky_relu_is_onnxs() -> None:
    data = floats(2, 3)
    wanted = onnx_value("LeakyRelu", array(data), alpha=0.25)
    np.testing.assert_allclose(value(nn.leaky_relu(data, 0.25)), wanted, rtol=1e-6)


@pytest.mark.parametrize(("axis", "length"), [(1, 3), (-1, 4), (0, 2)])
def test_prelu_has_a_slope_for_each_channel(axis: int, length: int) -> None:
    data, alpha = floats(2, 3, 4), floats(length, seed=1)
    moved = np.moveaxis(array(data), axis, -1)
    wanted = np.where(moved > 0, moved, moved * array(alpha))
    found = value(nn.prelu(data, alpha, axis))
    np.testing.assert_array_equal(found, np.moveaxis(wanted, -1, axis), strict=True)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_and_its_logarithm_are_onnxs(axis: int) -> None:
    data = floats(2, 3, 4)
    for build, name in ((nn.softmax, "Softmax"), (nn.log_softmax, "LogSoftmax")):
        found = value(build(data, axis))
        assert found.dtype == "float32"
        wanted = onnx_value(name, array(data), axis=axis)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_softmax_does_not_overflow() -> None:
    large = const(np.array([1000.0, 1000.0], "float32"))
    assert value(nn.softmax(large)).tolist() == [0.5, 0.5]
    np.testing.assert_allclose(value(nn.log_softmax(large)), np.log([0.5, 0.5]), 1e-6)


def test_dropout_drops_nothing_when_deployed() -> None:
    data = floats(2, 3)
    np.testing.assert_array_equal(value(nn.dropout(data)), array(data))
    result, mask = nn.dropout_raw(data)
    np.testing.assert_array_equal(value(result), array(data))
    np.testing.assert_array_equal(value(mask), np.ones((2, 3), "float32"), strict=True)


def test_what_does_not_fit_is_rejected() -> None:
    with pytest.raises(TypeRelationError, match="expected a tensor of floats, got"):
        related(nn.softmax(ints(3)))
    with pytest.raises(TypeRelationError, match="expected an axis of 1 dimensions"):
        related(nn.softmax(floats(3), 1))
    with pytest.raises(TypeRelationError) as caught:
        related(nn.prelu(floats(2, 3), floats(2)))
    assert str(caught.value) == (
        "expected Tensor[(3,), float32] for alpha, got Tensor[(2,), float32]"
    )


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_rate_is_at_least_0_and_below_1(rate: float) -> None:
    with pytest.raises(IRTypeError, match=r"^expected a rate from 0 up to 1, got"):
        nn.dropout(floats(2), rate)
