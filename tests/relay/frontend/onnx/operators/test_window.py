from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator

from parpass.errors import FrontendError, MalformedModelError
from parpass.relay.interpreter.interpreter import create_executor
from tests.support.onnx.models import (
    assert_agrees,
    evaluate,
    graph_model,
    imported,
    one_node,
    random,
    reference,
)


@st.composite
def convolutions(draw: st.DrawFn) -> dict[str, Any]:
    kernel = [draw(st.integers(1, 3)) for _ in range(2)]
    return {
        "kernel_shape": kernel,
        "strides": [draw(st.integers(1, 3)) for _ in range(2)],
        "dilations": [draw(st.integers(1, 2)) for _ in range(2)],
        "pads": [draw(st.integers(0, size)) for size in kernel * 2],
    }


@pytest.mark.slow
@given(convolutions(), st.booleans(), st.sampled_from([1, 2]))
def test_conv_agrees_for_any_window(
    attributes: dict[str, Any], has_bias: bool, group: int
) -> None:
    weight = random(4, 4 // group, *attributes["kernel_shape"], seed=1)
    bias = random(4, seed=2) if has_bias else None
    data = random(1, 4, 7, 6)
    assert_agrees("Conv", data, weight, bias, known=(1,), group=group, **attributes)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("strides", [[1, 1], [2, 2]])
@pytest.mark.parametrize("kernel", [[2, 2], [3, 3]])
def test_conv_honours_auto_pad(
    auto_pad: str, strides: list[int], kernel: list[int]
) -> None:
    weight = random(2, 3, *kernel, seed=1)
    data = random(1, 3, 5, 6)
    assert_agrees("Conv", data, weight, auto_pad=auto_pad, strides=strides)


def test_conv_with_a_channel_to_a_group_agrees() -> None:
    assert_agrees("Conv", random(2, 6, 5, 5), random(6, 1, 3, 3, seed=1), group=6)


def test_conv_takes_its_kernel_from_the_weight() -> None:
    model = one_node(
        "Conv", random(1, 3, 5, 5), random(2, 3, 3, 3), kernel_shape=[2, 2]
    )
    with pytest.raises(MalformedModelError, match=r"kernel_shape is \(2, 2\), but"):
        imported(model)


def test_a_weight_that_is_no_stack_of_kernels_is_a_fault() -> None:
    with pytest.raises(MalformedModelError, match="a weight of 4 dimensions, got 1"):
        imported(one_node("Conv", random(1, 3, 5, 5), random(2)))


@pytest.mark.parametrize("op_type", ["Conv", "MaxPool"])
def test_windows_slide_along_one_to_three_axes(op_type: str) -> None:
    for rank in (1, 2, 3):
        sides = (5,) * rank
        weight = [random(2, 3, *(3,) * rank)] if op_type == "Conv" else []
        data = random(1, 3, *sides)
        assert_agrees(op_type, data, *weight, kernel_shape=[3] * rank)
    model = one_node(op_type, random(1, 3), random(2, 3), kernel_shape=[1])
    with pytest.raises(FrontendError, match=r"\(" + op_type + r" 'y'\): only signals"):
        imported(model)


@st.composite
def poolings(draw: st.DrawFn) -> dict[str, Any]:
    kernel = [draw(st.integers(1, 3)) for _ in range(2)]
    return {
        "kernel_shape": kernel,
        "strides": [draw(st.integers(1, 3)) for _ in range(2)],
        "pads": [draw(st.integers(0, size - 1)) for size in kernel * 2],
    }


@pytest.mark.slow
@given(poolings(), st.tuples(st.integers(1, 2), st.integers(1, 2)))
def test_max_pool_agrees_for_any_window(
    attributes: dict[str, Any], dilations: tuple[int, int]
) -> None:
    # The reference evaluator gets uneven pads wrong where nothing but them is special.
    assume(max(*attributes["strides"], *dilations) > 1)
    assert_agrees("MaxPool", random(1, 2, 7, 6), dilations=dilations, **attributes)


@pytest.mark.slow
@given(poolings(), st.booleans())
def test_average_pool_agrees_for_any_window(
    attributes: dict[str, Any], include: bool
) -> None:
    data = random(1, 2, 7, 6)
    assert_agrees("AveragePool", data, count_include_pad=int(include), **attributes)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "VALID"])
def test_pools_honour_auto_pad(op_type: str, auto_pad: str) -> None:
    data = random(1, 2, 5, 6)
    assert_agrees(op_type, data, kernel_shape=[3, 2], strides=[2, 1], auto_pad=auto_pad)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
def test_same_lower_is_same_upper_in_a_mirror(op_type: str) -> None:
    data = random(1, 2, 6, 6)
    mirrored = data[:, :, ::-1, ::-1].copy()
    window: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 1]}
    lower = imported(one_node(op_type, data, auto_pad="SAME_LOWER", **window))
    upper = imported(one_node(op_type, data, auto_pad="SAME_UPPER", **window))
    assert evaluate(lower, data).shape == (1, 2, 3, 6)
    np.testing.assert_allclose(
        evaluate(lower, data), evaluate(upper, mirrored)[:, :, ::-1, ::-1], rtol=1e-5
    )


def test_ceil_mode_adds_the_last_window_that_starts_in_the_data() -> None:
    data = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    window: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}
    largest = evaluate(imported(one_node("MaxPool", data, **window)), data)
    assert largest.tolist() == [[[[10, 11], [14, 15]]]]
    mean = evaluate(imported(one_node("AveragePool", data, **window)), data)
    assert mean.tolist() == [[[[5, 6.5], [11, 12.5]]]]


def test_ceil_mode_leaves_out_a_window_that_starts_in_the_padding() -> None:
    data = random(1, 1, 2, 2)
    window: dict[str, Any] = {"kernel_shape": [1, 1], "strides": [2, 2], "ceil_mode": 1}
    model = one_node("MaxPool", data, pads=[0, 0, 1, 1], **window)
    assert evaluate(imported(model), data).shape == (1, 1, 1, 1)


def padded_windows(
    data: np.ndarray[Any, Any], pads: list[int], attributes: dict[str, Any]
) -> list[Any]:
    """Return what is in each window of the last two axes, and of its padding, in order.

    What lies behind the padding, where ceil_mode lets a window end, is left out.
    """
    padded = np.pad(data, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    sizes = padded.shape[2:]
    starts: list[list[int]] = []
    for axis in range(2):
        kernel, stride = attributes["kernel_shape"][axis], attributes["strides"][axis]
        count = -(-(sizes[axis] - kernel) // stride) + 1
        starts.append([at * stride for at in range(count)])
        starts[-1] = [at for at in starts[-1] if at < sizes[axis] - pads[axis + 2]]
    high, wide = attributes["kernel_shape"]
    return [[padded[:, :, y : y + high, x : x + wide] for x in starts[1]]
            for y in starts[0]]  # fmt: skip


@pytest.mark.slow
@given(poolings())
def test_an_average_with_ceil_mode_counts_the_padding_that_the_model_gives(
    attributes: dict[str, Any],
) -> None:
    data = random(1, 2, 7, 6)
    given: dict[str, Any] = {"ceil_mode": 1, "count_include_pad": 1, **attributes}
    wanted = np.array(
        [
            [window.mean(axis=(2, 3)) for window in row]
            for row in padded_windows(data, attributes["pads"], attributes)
        ]
    ).transpose(2, 3, 0, 1)
    found = evaluate(imported(one_node("AveragePool", data, **given)), data)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [4, 5, 6])
def test_an_average_with_ceil_mode_that_counts_padding_agrees(size: int) -> None:
    data = random(1, 2, size, size + 1)
    assert_agrees(
        "AveragePool",
        data,
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[1, 0, 1, 1],
        ceil_mode=1,
        count_include_pad=1,
    )


def pooled(
    data: np.ndarray[Any, Any], **attributes: Any
) -> tuple[onnx.ModelProto, list[Any]]:
    """Return a model of MaxPool with both its results, and these."""
    node = helper.make_node("MaxPool", ["x"], ["y", "places"], **attributes)
    model = graph_model([node], {"x": data}, ["y", "places"])
    found = create_executor("debug", mod=imported(model)).evaluate()(data)
    return model, [one.numpy() for one in found]


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(
    "attributes",
    [
        {"strides": [2, 1]},
        {"strides": [2, 2], "pads": [1, 2, 1, 0]},
        {"strides": [3, 2], "ceil_mode": 1},
        {"strides": [1, 2], "dilations": [2, 1]},
    ],
    ids=["strides", "pads", "ceil_mode", "dilations"],
)
@pytest.mark.parametrize("storage_order", [0, 1])
def test_places_of_the_largest_agree(
    attributes: dict[str, Any], storage_order: int, dtype: str
) -> None:
    data = (random(2, 3, 6, 7) * 3).round().astype(dtype)  # with equal ones
    window = {"kernel_shape": [2, 3], "storage_order": storage_order}
    model, found = pooled(data, **window, **attributes)
    evaluator: Any = ReferenceEvaluator(model)
    for one, wanted in zip(found, evaluator.run(None, {"x": data}), strict=True):
        assert (one.dtype, one.tolist()) == (wanted.dtype, wanted.tolist())


def test_places_of_the_largest_are_never_in_the_padding() -> None:
    data = np.full((1, 1, 2, 2), -np.inf, "float32")
    data[0, 0, 1, 1] = np.nan
    _, (largest, places) = pooled(data, kernel_shape=[2, 2], pads=[1, 1, 0, 0])
    assert str(largest.tolist()) == "[[[[-inf, -inf], [-inf, nan]]]]"
    assert places.tolist() == [[[[0, 0], [0, 3]]]]


def test_places_that_nobody_reads_may_be_open() -> None:
    node = helper.make_node("MaxPool", ["x"], ["y", "places"], kernel_shape=[2, 2])
    model = graph_model([node], {"x": random(1, 1, 4, 4)}, ["y"])
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    assert evaluate(imported(model), random(1, 1, 5, 4)).shape == (1, 1, 4, 3)
    model.graph.output.append(helper.make_empty_tensor_value_info("places"))
    with pytest.raises(FrontendError, match=r"open are 'x' of .1, 1, height, 4."):
        imported(model)


def test_a_window_with_nan_gives_nan() -> None:
    """ONNX's evaluator passes over it, as the page for TVM's users says."""
    data = np.array([[[1, np.nan, 3, 4, 5]]], "float32")
    model = one_node("MaxPool", data, kernel_shape=[2])
    assert str(evaluate(imported(model), data).tolist()) == "[[[nan, nan, 4.0, 5.0]]]"
    assert reference(model, data).tolist() == [[[1, 3, 4, 5]]]


@pytest.mark.parametrize("rank", [1, 3])
def test_places_of_the_largest_are_found_in_signals_and_volumes(rank: int) -> None:
    data = random(2, 2, *(4,) * rank)
    _, (largest, places) = pooled(data, kernel_shape=[2] * rank, strides=[2] * rank)
    assert data.reshape(-1)[places].tolist() == largest.tolist()


@pytest.mark.parametrize("op_type", ["GlobalAveragePool", "GlobalMaxPool"])
def test_global_pools_agree(op_type: str) -> None:
    assert_agrees(op_type, random(2, 3, 4, 5))


@pytest.mark.parametrize(
    ("op_type", "attributes", "message"),
    [
        ("MaxPool", {"pads": [0, 0, -1, 0]}, "expected four pads from 0 up"),
        ("MaxPool", {"strides": [0, 1]}, "two numbers from 1 up for strides"),
        ("MaxPool", {"auto_pad": "SAME"}, "auto_pad is 'SAME', which ONNX does not"),
    ],
)
def test_what_is_not_supported_is_refused(
    op_type: str, attributes: dict[str, Any], message: str
) -> None:
    model = one_node(op_type, random(1, 2, 4, 4), kernel_shape=[3, 3], **attributes)
    with pytest.raises(FrontendError, match=message):
        imported(model)


def test_a_pool_needs_a_kernel() -> None:
    with pytest.raises(MalformedModelError, match="'kernel_shape', got none"):
        imported(one_node("MaxPool", random(1, 2, 4, 4)))
