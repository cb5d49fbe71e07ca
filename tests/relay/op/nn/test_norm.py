from __future__ import annotations

import numpy as np
import pytest

from parpass.errors import IRTypeError
from parpass.relay.expr import Call, TupleWrapper, const
from parpass.relay.op import TypeRelationError, nn
from tests.relay.op.nn.onnx_reference import onnx_value
from tests.support.relay.op.calls import array, floats, related, value

GAMMA, BETA, MEAN = floats(3, seed=1), floats(3, seed=2), floats(3, seed=3)
VARIANCE = const(np.array([0.5, 1.0, 2.0], "float32"))


def test_batch_norm_is_onnxs_and_hands_the_statistics_on() -> None:
    data = floats(2, 3, 4, 5)
    result, mean, variance = nn.batch_norm(data, GAMMA, BETA, MEAN, VARIANCE)
    arrays = [array(x) for x in (data, GAMMA, BETA, MEAN, VARIANCE)]
    wanted = onnx_value("BatchNormalization", *arrays, epsilon=1e-5)
    assert value(result).dtype == "float32"
    np.testing.assert_allclose(value(result), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(value(mean), array(MEAN))
    np.testing.assert_array_equal(value(variance), array(VARIANCE))


def test_center_and_scale_switch_beta_and_gamma_on() -> None:
    data = floats(2, 3)
    args = data, GAMMA, BETA, MEAN, VARIANCE
    plain = (array(data) - array(MEAN)) / np.sqrt(array(VARIANCE) + 1e-5)
    scaled = value(nn.batch_norm(*args, center=False)[0])
    np.testing.assert_allclose(scaled, plain * array(GAMMA), rtol=1e-4)
    centred = value(nn.batch_norm(*args, scale=False)[0])
    np.testing.assert_allclose(centred, plain + array(BETA), rtol=1e-4)


def test_the_channels_may_be_on_another_axis() -> None:
    data = floats(2, 4, 3)
    moved = const(np.moveaxis(array(data), -1, 1))
    last = value(nn.batch_norm(data, GAMMA, BETA, MEAN, VARIANCE, axis=-1)[0])
    second = value(nn.batch_norm(moved, GAMMA, BETA, MEAN, VARIANCE)[0])
    np.testing.assert_array_equal(last, np.moveaxis(second, 1, -1))


def test_layer_norm_is_onnxs() -> None:
    data = floats(2, 4, 3)
    arrays = [array(x) for x in (data, GAMMA, BETA)]
    wanted = onnx_value("LayerNormalization", *arrays, opset=17)
    found = value(nn.layer_norm(data, GAMMA, BETA))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_instance_norm_is_onnxs() -> None:
    data = floats(2, 3, 4, 5)
    arrays = [array(x) for x in (data, GAMMA, BETA)]
    found = value(nn.instance_norm(data, GAMMA, BETA))
    wanted = onnx_value("InstanceNormalization", *arrays)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_lrn_is_onnxs(size: int) -> None:
    # As many images as channels: the evaluator counts the one where it means the other.
    data = floats(7, 7, 3, 3)
    found = value(nn.lrn(data, size, bias=1.5, alpha=0.1, beta=0.5))
    wanted = onnx_value("LRN", array(data), size=size, bias=1.5, alpha=0.1, beta=0.5)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_lrn_counts_neighbours_along_its_axis() -> None:
    data = floats(2, 3, 7)
    moved = const(np.moveaxis(array(data), -1, 1))
    found = value(nn.lrn(data, 3, axis=-1, alpha=0.1))
    wanted = np.moveaxis(value(nn.lrn(moved, 3, axis=1, alpha=0.1)), 1, -1)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_l2_normalize_gives_the_length_1() -> None:
    data = floats(3, 4)
    lengths = np.linalg.norm(value(nn.l2_normalize(data, 1e-9, 1)), axis=1)
    np.testing.assert_allclose(lengths, np.ones(3), rtol=1e-6)
    assert np.linalg.norm(value(nn.l2_normalize(data, 1e-9))) == pytest.approx(1)


def test_a_short_vector_is_divided_by_the_root_of_epsilon() -> None:
    short = const(np.array([0.001, 0.0]))
    assert value(nn.l2_normalize(short, 0.25, 0)).tolist() == [0.002, 0.0]


REJECTED: list[tuple[Call | TupleWrapper, str]] = [
    (
        nn.batch_norm(floats(2, 4), GAMMA, BETA, MEAN, VARIANCE),
        "expected Tensor[(4,), float32] for argument 2, got Tensor[(3,), float32]",
    ),
    (
        nn.layer_norm(floats(2, 3), GAMMA, floats(4)),
        "expected Tensor[(3,), float32] for argument 3, got Tensor[(4,), float32]",
    ),
    (
        nn.instance_norm(floats(2, 3), GAMMA, BETA, axis=2),
        "expected an axis of 2 dimensions, got 2",
    ),
    (nn.lrn(floats(2)), "expected an axis of 1 dimensions, got 1"),
    (nn.l2_normalize(floats(2), 1e-6, 1), "expected an axis of 1 dimensions, got 1"),
]


@pytest.mark.parametrize(("call", "words"), REJECTED)
def test_what_does_not_fit_is_rejected(call: Call | TupleWrapper, words: str) -> None:
    with pytest.raises(TypeRelationError) as caught:
        related(call)
    assert str(caught.value) == words


def test_lrn_needs_a_middle() -> None:
    with pytest.raises(IRTypeError, match=r"^expected an odd size from 1 on, got 4$"):
        nn.lrn(floats(1, 2), 4)
