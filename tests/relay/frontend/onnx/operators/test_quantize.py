from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from parpass.relay.transform import InferType
from tests.support.onnx.models import (
    Array,
    assert_agrees,
    evaluate,
    graph_model,
    imported,
    one_node,
    random,
    reference,
)

SMALL = {"int8": -3, "uint8": 7, "int16": -300, "uint16": 300}


def whole(*shape: int, low: int = 0, high: int = 9, dtype: str = "uint8") -> Array:
    return np.random.default_rng(0).integers(low, high, shape).astype(dtype)


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("scale", [np.float32(0.01), np.array([0.1, 0.2, 0.3], "f4")])
def test_quantizing_and_back_agrees(dtype: str, scale: Array) -> None:
    data = random(2, 3, 4) * 5
    zero = np.full(scale.shape, SMALL[dtype], dtype)
    assert_agrees("QuantizeLinear", data, scale, zero, opset=21, axis=1)
    values = whole(2, 3, 4, high=120, dtype=dtype)
    assert_agrees("DequantizeLinear", values, scale, zero, opset=21, axis=1)


def test_blocks_have_scales_of_their_own() -> None:
    data, scale = random(2, 5) * 5, np.abs(random(2, 3, seed=1)) + 0.1
    how: dict[str, Any] = {"opset": 21, "axis": 1, "block_size": 2}
    assert_agrees("QuantizeLinear", data, scale, whole(2, 3), **how)
    assert_agrees("DequantizeLinear", whole(2, 5), scale, whole(2, 3), **how)


def test_a_quantized_number_is_at_the_end_of_the_range_however_large_it_was() -> None:
    data = np.array([1e30, -1e30, np.inf, -np.inf], "float32")
    model = one_node("QuantizeLinear", data, np.array(1, "float32"), known=(1,))
    result = evaluate(imported(model), data)
    assert result.tolist() == [255, 0, 255, 0]


def test_halves_are_computed_on_without_a_zero_point_overflowing() -> None:
    data, scale = np.array([-1, 0, 1], "float16"), np.array(1, "float16")
    zero = np.array(65535, "uint16")
    model = one_node("QuantizeLinear", data, scale, zero, known=(1, 2), opset=21)
    assert evaluate(imported(model), data).tolist() == [65534, 65535, 65535]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_products_of_integers_agree(dtype: str) -> None:
    a, b = whole(2, 3, dtype=dtype), whole(3, 4, high=5, dtype=dtype)
    zero = np.array(2, dtype)
    assert_agrees("MatMulInteger", a, b, zero, zero, opset=10)


def test_each_row_and_column_may_have_a_zero_point() -> None:
    a, b = whole(2, 3), whole(3, 4, high=5)
    rows, columns = np.array([1, 2], "uint8"), np.array([1, 2, 3, 4], "uint8")
    model = one_node("MatMulInteger", a, b, rows, columns, opset=10)
    found = evaluate(imported(model), a, b, rows, columns)
    wide = [one.astype("int32") for one in (a, b, rows, columns)]
    wanted = (wide[0] - wide[2][:, None]) @ (wide[1] - wide[3])
    assert found.tolist() == wanted.tolist()


def test_bytes_whose_zero_point_is_0_remain_bytes() -> None:
    a, b = whole(2, 3), whole(3, 4, low=-128, high=128, dtype="int8")
    zeros = np.array(3, "uint8"), np.zeros(4, "int8")
    model = one_node("MatMulInteger", a, b, *zeros, known=(1, 2, 3), opset=10)
    mod = imported(model)
    assert "Tensor[(4, 3), int8]" in str(InferType()(mod))
    wanted = (a.astype("int32") - 3) @ b.astype("int32")
    assert evaluate(mod, a).tolist() == wanted.tolist()


def product_of_quantized(b: Array, scale: Array, axis: int = 1) -> onnx.ModelProto:
    """Return a product of quantized rows and a matrix of ints with scales."""
    node = helper.make_node
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["a"]),
        node("DequantizeLinear", ["w", "ws"], ["b"], axis=axis),
        node("MatMul", ["a", "b"], ["y"]),
    ]
    known = {
        "s": np.array(0.05, "float32"),
        "z": np.array(131, "uint8"),
        "w": b,
        "ws": scale,
    }
    return graph_model(nodes, {"x": random(2, 5, 3)}, ["y"], known=known, opset=21)


@pytest.mark.parametrize("columns", [False, True])
def test_a_product_of_quantized_numbers_is_that_of_their_ints(
    columns: bool,
) -> None:
    b = whole(3, 4, low=-120, high=120, dtype="int8")
    scale = np.array([0.01, 0.2, 0.03, 0.4] if columns else 0.02, "f4")
    model, x = product_of_quantized(b, scale), random(2, 5, 3)
    mod = imported(model)
    assert 'out_dtype="int32"' in str(mod)
    np.testing.assert_allclose(evaluate(mod, x), reference(model, x), rtol=1e-5)


def test_a_product_whose_rows_have_scales_of_their_own_is_one_of_floats() -> None:
    b, scale = whole(3, 4, dtype="int8"), np.array([0.1, 0.2, 0.3], "f4")
    model, x = product_of_quantized(b, scale, axis=0), random(2, 5, 3)
    mod = imported(model)
    assert "int32" not in str(mod)
    np.testing.assert_allclose(evaluate(mod, x), reference(model, x), rtol=1e-5)


def test_quantized_convolutions_are_those_of_the_numbers_that_are_meant() -> None:
    x, w = whole(1, 2, 5, 5), whole(3, 2, 3, 3, high=5)
    zeros = np.array(4, "uint8"), np.array([1, 2, 3], "uint8")
    scales = np.array(0.5, "float32"), np.array([0.1, 0.2, 0.3], "float32")
    bias = np.array([3, -4, 5], "int32")
    given = (x, scales[0], zeros[0], w, scales[1], zeros[1])
    out = np.array(0.7, "float32"), np.array(9, "uint8")
    model = one_node("QLinearConv", *given, *out, bias, opset=10)
    found = evaluate(imported(model), *given, *out, bias)
    real = [
        (x - zeros[0].astype("f4")) * scales[0],
        (w - zeros[1][:, None, None, None].astype("f4"))
        * scales[1][:, None, None, None],
        (bias * scales[0] * scales[1]).astype("float32"),
    ]
    plain = evaluate(imported(one_node("Conv", *real)), *real)
    wanted = np.clip(np.rint(plain / out[0] + out[1]), 0, 255)
    np.testing.assert_allclose(found, wanted, atol=1)  # a tie may fall either way
    assert (found == wanted).mean() > 0.9


SPECIAL = np.array([0, 1.3, -2.7, 1e9, -1e9, np.inf, -np.inf, np.nan], "float32")


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
        (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2),
    ],
)
@pytest.mark.parametrize("saturate", [0, 1])
def test_a_cast_to_eight_bits_saturates_if_it_is_to(
    code: int, dtype: Any, saturate: int
) -> None:
    model = one_node("Cast", SPECIAL, opset=19, to=code, saturate=saturate)
    found = evaluate(imported(model), SPECIAL).astype("float32")
    largest = float(cast("Any", ml_dtypes.finfo(dtype)).max)
    with np.errstate(all="ignore"):
        wanted = SPECIAL.astype(dtype).astype("float32")
    if saturate:
        wanted[3:7] = [largest, -largest, largest, -largest]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [("up", [2, 4, 2**127]), ("down", [1, 4, 2**127]), ("nearest", [2, 4, 2**127])],
)
def test_a_cast_to_exponents_rounds_as_it_is_told(
    mode: str, wanted: list[float]
) -> None:
    data = np.array([1.6, 4, 3e38], "float32")
    to = TensorProto.FLOAT8E8M0
    model = one_node("Cast", data, opset=24, to=to, round_mode=mode)
    assert evaluate(imported(model), data).astype("float64").tolist() == wanted
