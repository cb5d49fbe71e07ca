"""Resizing in ways that Relay's operators of images do not know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass.errors import FrontendError, MalformedModelError
from tests.support.onnx.models import (
    Array,
    assert_agrees,
    evaluate,
    imported,
    one_node,
    random,
)

IMAGE = random(1, 2, 4, 5)
RULES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
)


def floats(*values: float) -> Array:
    return np.array(values, "float32")


@pytest.mark.parametrize("known", [(2,), ()])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("rule", RULES)
def test_any_factor_agrees(mode: str, rule: str, known: tuple[int, ...]) -> None:
    how: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": rule}
    scales = floats(1, 1, 0.6, 1.7)
    assert_agrees("Resize", IMAGE, None, scales, known=known, opset=19, **how)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_sizes_may_keep_the_ratio_of_the_sides(policy: str) -> None:
    how: dict[str, Any] = {"keep_aspect_ratio_policy": policy, "axes": [2, 3]}
    sizes = np.array([7, 6])
    assert_agrees("Resize", IMAGE, None, None, sizes, opset=19, mode="linear", **how)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_what_becomes_smaller_may_be_smoothed(mode: str) -> None:
    scales = floats(1, 1, 0.5, 0.4)
    assert_agrees("Resize", IMAGE, None, scales, opset=19, mode=mode, antialias=1)


def test_a_part_may_be_cut_out_and_resized() -> None:
    how: dict[str, Any] = {
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 10.0,
    }
    roi, sizes = floats(0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7), np.array([1, 2, 3, 3])
    assert_agrees("Resize", IMAGE, roi, None, sizes, opset=19, mode="linear", **how)


def test_axes_need_not_be_those_of_an_image() -> None:
    assert_agrees("Resize", random(5), None, floats(1.6), opset=19, mode="linear")
    assert_agrees("Resize", random(2, 3), None, floats(2, 2), opset=19)


def test_whole_numbers_are_rounded_and_stay_in_their_range() -> None:
    data = np.array([[[[0, 255, 0, 255]]]], "uint8")
    model = one_node(
        "Resize", data, None, floats(1, 1, 1, 1.75), opset=19, mode="cubic"
    )
    found = evaluate(imported(model), data, floats(1, 1, 1, 1.75))
    assert found.dtype == np.uint8
    assert found.min() == 0
    assert found.max() == 255


def test_upsampling_by_factors_of_the_data() -> None:
    given = floats(1, 1, 2, 3)
    model = one_node("Upsample", IMAGE, given, opset=9)
    found = evaluate(imported(model), IMAGE, given)
    assert found.tolist() == IMAGE.repeat(2, axis=2).repeat(3, axis=3).tolist()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"mode": "cosine"}, "mode is 'cosine', which ONNX does not know"),
        ({"coordinate_transformation_mode": "x"}, "coordinates 'x' are unknown"),
        ({"nearest_mode": "up"}, "nearest_mode is 'up', which ONNX does not"),
        ({"keep_aspect_ratio_policy": "x"}, "keep_aspect_ratio_policy is 'x'"),
    ],
)
def test_what_onnx_does_not_know_is_a_fault(
    setting: dict[str, Any], message: str
) -> None:
    model = one_node("Resize", IMAGE, None, floats(1, 1, 0.6, 1.7), opset=19, **setting)
    with pytest.raises(MalformedModelError, match=message):
        imported(model)


def test_scales_and_sizes_together_are_a_fault() -> None:
    both = floats(1, 1, 2, 2), np.array([1, 2, 8, 10])
    model = one_node("Resize", IMAGE, None, *both, opset=19)
    with pytest.raises(FrontendError, match="expected either scales or sizes"):
        imported(model)


def test_what_lies_between_bools_is_refused() -> None:
    data = np.ones((1, 1, 2, 2), bool)
    model = one_node(
        "Resize", data, None, floats(1, 1, 2, 2.5), opset=19, mode="linear"
    )
    with pytest.raises(FrontendError, match="interpolation between bools"):
        imported(model)
