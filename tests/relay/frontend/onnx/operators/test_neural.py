from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from parpass.errors import FrontendError, MalformedModelError
from parpass.relay.interpreter.interpreter import create_executor
from parpass.relay.transform import InferType
from tests.support.onnx.models import (
    assert_agrees,
    evaluate,
    graph_model,
    imported,
    one_node,
    random,
    reference,
)


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("bias", [(), (4,), (1,), (3, 4), (3, 1)])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.5, 0.25)])
def test_gemm_agrees(
    trans_a: int, trans_b: int, bias: tuple[int, ...], alpha: float, beta: float
) -> None:
    a = random(5, 3) if trans_a else random(3, 5)
    b = random(4, 5, seed=1) if trans_b else random(5, 4, seed=1)
    factors: dict[str, Any] = {"alpha": alpha, "beta": beta}
    c = random(*bias, seed=2)
    assert_agrees("Gemm", a, b, c, transA=trans_a, transB=trans_b, **factors)


@pytest.mark.parametrize("has_bias", [False, True])
def test_gemm_without_a_bias_that_counts_agrees(has_bias: bool) -> None:
    c = random(4, seed=2) if has_bias else None
    assert_agrees("Gemm", random(3, 5), random(5, 4, seed=1), c, beta=0.0)


def test_mat_mul_of_matrices_agrees() -> None:
    assert_agrees("MatMul", random(3, 5), random(5, 4, seed=1))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3, 5), (5, 4)),
        ((3, 5), (2, 5, 4)),
        ((2, 1, 3, 5), (6, 5, 4)),
        ((5,), (2, 5, 4)),
        ((2, 3, 5), (5,)),
        ((5,), (5,)),
    ],
)
def test_mat_mul_of_more_dimensions_agrees(
    left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    assert_agrees("MatMul", random(*left), random(*right, seed=1))


def test_mat_mul_of_a_scalar_is_a_fault() -> None:
    with pytest.raises(MalformedModelError, match="vectors or matrices, got a scalar"):
        imported(one_node("MatMul", random(2), random()))


@pytest.mark.parametrize("epsilon", [1e-5, 0.25])
@pytest.mark.parametrize("shape", [(2, 3), (1, 3, 4, 5)])
def test_batch_normalization_agrees(epsilon: float, shape: tuple[int, ...]) -> None:
    scale, shift, mean = (random(3, seed=seed) for seed in (1, 2, 3))
    variance = np.abs(random(3, seed=4))
    statistics = (scale, shift, mean, variance)
    # With momentum below 1 the evaluator mixes in the data's own statistics in opset 9.
    settings: dict[str, Any] = {"epsilon": epsilon, "momentum": 1.0, "opset": 9}
    assert_agrees("BatchNormalization", random(*shape), *statistics, **settings)


def test_statistics_of_each_element_are_refused() -> None:
    attribute = "spatial"
    ones = [random(3) for _ in range(4)]
    setting: dict[str, Any] = {attribute: 0}
    with pytest.raises(FrontendError, match=f"{attribute}=. is not supported"):
        imported(one_node("BatchNormalization", random(1, 3), *ones, **setting))


@pytest.mark.parametrize("size", [1, 3, 5])
def test_lrn_agrees(size: int) -> None:
    # The reference evaluator normalises only as many channels as the batch is long.
    data = random(6, 6, 3, 2)
    assert_agrees("LRN", data, size=size, alpha=0.5, beta=0.6, bias=2.0)


def test_lrn_of_an_even_size_is_refused() -> None:
    with pytest.raises(FrontendError, match="expected an odd size from 1 up, got 4"):
        imported(one_node("LRN", random(1, 3, 2, 2), size=4))


@pytest.mark.parametrize("opset", [9, 12, 13])
def test_dropout_drops_nothing(opset: int) -> None:
    ratio = [np.float32(0.3)] if opset > 9 else []
    data = random(2, 3)
    model = one_node("Dropout", data, *map(np.asarray, ratio), known=(1,), opset=opset)
    assert (evaluate(imported(model), data) == data).all()


def test_dropout_in_training_is_refused() -> None:
    inputs = random(2, 3), np.asarray(0.5, np.float32), np.asarray(True)
    with pytest.raises(FrontendError, match="training_mode=True is not supported"):
        imported(one_node("Dropout", *inputs, known=(1, 2)))


def test_a_ratio_of_many_numbers_is_a_fault() -> None:
    with pytest.raises(MalformedModelError, match="one number for its ratio, got 2"):
        imported(one_node("Dropout", random(2, 3), random(2), known=(1,)))


@pytest.mark.parametrize(("opset", "dtype"), [(7, "float32"), (10, bool), (13, bool)])
def test_the_mask_of_dropout_keeps_everything(opset: int, dtype: Any) -> None:
    data = random(2, 3)
    node = helper.make_node("Dropout", ["x"], ["y", "mask"])
    mod = imported(graph_model([node], {"x": data}, ["y", "mask"], opset=opset))
    result, mask = create_executor("debug", mod=mod).evaluate()(data)
    np.testing.assert_array_equal(result.numpy(), data)
    assert mask.numpy().dtype == dtype
    assert mask.numpy().all()


def test_statistics_of_training_are_those_of_the_batch() -> None:
    data, ones = random(4, 3, 2), [np.ones(3, "float32")] * 4
    names = ["x", "s", "b", "m", "v"]
    node = helper.make_node(
        "BatchNormalization", names, ["y", "m1", "v1"], training_mode=1, momentum=0.75
    )
    known = dict(zip(names[1:], ones, strict=True))
    model = graph_model([node], {"x": data}, ["y", "m1", "v1"], known=known, opset=15)
    results: Any = create_executor("debug", mod=imported(model)).evaluate()(data)
    found, mean, variance = (one.numpy() for one in results)
    around, spread = data.mean(axis=(0, 2)), data.var(axis=(0, 2))
    np.testing.assert_allclose(mean, 0.75 + around / 4, rtol=1e-5)
    np.testing.assert_allclose(variance, 0.75 + spread / 4, rtol=1e-5)
    wanted = (data - around[:, None]) / np.sqrt(spread + 1e-5)[:, None] + 1
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_statistics_may_be_of_wider_floats_than_the_data() -> None:
    data, halves = random(2, 3, 4, dtype="float16"), np.ones(3, "float16")
    arrays = data, halves, halves, random(3), np.abs(random(3)) + 1
    assert_agrees("BatchNormalization", *arrays, opset=15)


def test_products_of_no_matrices_have_no_elements() -> None:
    mod = imported(one_node("MatMul", random(2, 0, 3, 4), random(2, 0, 4, 5)))
    result = evaluate(mod, random(2, 0, 3, 4), random(2, 0, 4, 5))
    assert result.shape == (2, 0, 3, 5)


@pytest.mark.parametrize(
    "shapes", [((1, 3, 4), (1, 4, 5)), ((1, 2, 3, 4), (1, 2, 4, 5))]
)
def test_stacks_of_matrices_may_be_of_open_length(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    model = one_node("MatMul", *(random(*shape) for shape in shapes))
    for given in model.graph.input:
        given.type.tensor_type.shape.dim[0].dim_param = "batch"
    mod = InferType()(imported(model))
    arrays = [random(3, *shape[1:], seed=at) for at, shape in enumerate(shapes)]
    np.testing.assert_allclose(
        evaluate(mod, *arrays), arrays[0] @ arrays[1], rtol=1e-4, atol=1e-5
    )


def test_an_output_that_nobody_computes_is_refused_where_it_is_read() -> None:
    data, known = random(2, 3, 4, 4), {name: np.ones(3, "float32") for name in "abcd"}
    node = helper.make_node("BatchNormalization", ["x", *known], ["y", "mean"])
    assert imported(graph_model([node], {"x": data}, ["y"], known=known))
    with pytest.raises(FrontendError, match=r"only its first output .* not 'mean'"):
        imported(graph_model([node], {"x": data}, ["y", "mean"], known=known))


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
def test_softmax_agrees(axis: int) -> None:
    assert_agrees("Softmax", random(2, 3, 4), axis=axis)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 1)])
def test_softmax_before_opset_13_takes_all_dimensions_from_its_axis_on(
    axis: int | None, shape: tuple[int, ...]
) -> None:
    data = random(*shape)
    given: dict[str, Any] = {} if axis is None else {"axis": axis}
    old = one_node("Softmax", data, opset=11, **given)
    flat = [
        helper.make_node("Flatten", ["x"], ["flat"], axis=1 if axis is None else axis),
        helper.make_node("Softmax", ["flat"], ["even"], axis=1),
        helper.make_node("Reshape", ["even", "shape"], ["y"]),
    ]
    new = graph_model(flat, {"x": data}, ["y"], known={"shape": np.asarray(shape)})
    result = evaluate(imported(old), data)
    np.testing.assert_allclose(result, reference(new, data), rtol=1e-5)


def test_an_axis_out_of_range_is_a_fault() -> None:
    with pytest.raises(MalformedModelError, match="axis 3 is out of range of 3"):
        imported(one_node("Softmax", random(2, 3, 4), axis=3))
