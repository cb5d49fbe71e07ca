from __future__ import annotations

import numpy as np
import pytest

from parpass.errors import MalformedModelError
from tests.support.onnx.models import (
    assert_agrees,
    evaluate,
    imported,
    one_node,
    random,
)

IMAGES = random(2, 2, 3, 4)
PLACES = (random(2, 2, 3, 2, seed=1) * 2).clip(-3, 3)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [0, 1])
def test_images_are_read_where_the_grid_says(
    mode: str, padding_mode: str, align_corners: int
) -> None:
    assert_agrees(
        "GridSample",
        IMAGES,
        PLACES,
        opset=20,
        mode=mode,
        padding_mode=padding_mode,
        align_corners=align_corners,
    )


def test_an_axis_of_one_element_has_nothing_to_mirror() -> None:
    assert_agrees(
        "GridSample",
        random(1, 1, 2, 2),
        np.full((1, 1, 1, 2), 0.3, "float32"),
        opset=20,
        padding_mode="reflection",
        align_corners=1,
    )


def test_modes_had_other_names_before_opset_20() -> None:
    old = one_node("GridSample", IMAGES, PLACES, opset=16, mode="bilinear")
    new = one_node("GridSample", IMAGES, PLACES, opset=20, mode="linear")
    found = [evaluate(imported(model), IMAGES, PLACES) for model in (old, new)]
    np.testing.assert_array_equal(*found)


def test_what_onnx_does_not_know_is_a_fault() -> None:
    model = one_node("GridSample", IMAGES, PLACES, opset=20, padding_mode="wrap")
    with pytest.raises(MalformedModelError, match="padding_mode 'wrap' is unknown"):
        imported(model)
