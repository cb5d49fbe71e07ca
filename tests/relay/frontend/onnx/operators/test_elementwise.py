from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass.errors import FrontendError
from tests.support.onnx.models import (
    assert_agrees,
    evaluate,
    imported,
    one_node,
    random,
)


@pytest.mark.parametrize("op_type", ["Abs", "Exp", "Neg", "Relu", "Sigmoid", "Tanh"])
def test_functions_of_one_tensor_agree(op_type: str) -> None:
    assert_agrees(op_type, random(2, 3))


@pytest.mark.parametrize("op_type", ["Log", "Sqrt"])
def test_functions_of_positive_numbers_agree(op_type: str) -> None:
    assert_agrees(op_type, np.abs(random(2, 3)))


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("shape", [(2, 3), (3,), (2, 1), (), (4, 2, 3)])
def test_arithmetic_agrees_with_broadcasting(
    op_type: str, shape: tuple[int, ...]
) -> None:
    assert_agrees(op_type, random(2, 3), random(*shape, seed=1))


def test_pow_agrees() -> None:
    assert_agrees("Pow", np.abs(random(2, 3)), random(3, seed=1))


@pytest.mark.parametrize("op_type", ["Max", "Min", "Sum"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_functions_of_many_tensors_agree(op_type: str, count: int) -> None:
    assert_agrees(op_type, *(random(2, 3, seed=seed) for seed in range(count)))


@pytest.mark.parametrize("bounds", [{}, {"min": -0.5}, {"max": 0.5, "min": 0.0}])
def test_clip_with_bounds_as_attributes_agrees(bounds: dict[str, Any]) -> None:
    assert_agrees("Clip", random(2, 3), opset=9, **bounds)


@pytest.mark.parametrize("low", [None, -0.5])
@pytest.mark.parametrize("high", [None, 0.5])
def test_clip_with_bounds_as_inputs_agrees(
    low: float | None, high: float | None
) -> None:
    bounds = [None if one is None else np.float32(one) for one in (low, high)]
    assert_agrees("Clip", random(2, 3), *map(_array, bounds), known=(1, 2))


def _array(value: Any) -> Any:
    return None if value is None else np.asarray(value)


def test_division_of_integers_is_towards_zero() -> None:
    values = np.array([-7, -1, 7], np.int32)
    twos = np.full(3, 2, np.int32)
    result = evaluate(imported(one_node("Div", values, twos)), values, twos)
    assert result.tolist() == [-3, 0, 3]


def test_an_attribute_that_nobody_honours_is_refused() -> None:
    model = one_node("Add", random(2, 3), random(3), broadcast=1, axis=1)
    with pytest.raises(FrontendError, match=r"attribute '.*', '.*' is not supported"):
        imported(model)


def test_an_input_that_nobody_honours_is_refused() -> None:
    with pytest.raises(FrontendError, match="an input number 3 is not supported"):
        imported(one_node("Add", random(2), random(2), random(2)))


def test_an_input_that_is_missing_is_a_fault() -> None:
    with pytest.raises(FrontendError, match="expected an input number 2, got none"):
        imported(one_node("Add", random(2, 3)))
