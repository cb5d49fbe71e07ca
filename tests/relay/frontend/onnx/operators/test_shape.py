from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from parpass import relay
from parpass.errors import MalformedModelError
from tests.support.onnx.models import (
    evaluate,
    graph_model,
    imported,
    one_node,
    random,
    reference,
)

X = random(2, 4, 5)
PADS = np.array([0, -1, 2, 0, -2, -1])


def cropped_and_padded(mode: str) -> Any:
    """Return what ONNX's evaluator, which takes no pads below 0, gives in two steps."""
    nodes = [
        helper.make_node("Slice", ["x", "begin", "end"], ["s"]),
        helper.make_node("Pad", ["s", "pads"], ["y"], mode=mode),
    ]
    known = {
        "begin": np.array([0, 1, 0]),
        "end": np.array([2, 2, 4]),
        "pads": np.maximum(PADS, 0),
    }
    return reference(graph_model(nodes, {"x": X}, ["y"], known=known, opset=19), X)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pads_below_0_cut_off_before_others_add(mode: str, is_known: bool) -> None:
    known = (1,) if is_known else ()
    mod = imported(one_node("Pad", X, PADS, known=known, opset=19, mode=mode))
    found = evaluate(mod, X) if is_known else evaluate(mod, X, PADS)
    assert found.tolist() == cropped_and_padded(mode).tolist()


def test_pads_below_0_cut_an_open_axis() -> None:
    model = one_node("Pad", X, PADS, known=(1,), opset=19)
    mod = imported(model, shape={"x0": (2, relay.Any(), 5)})
    assert evaluate(mod, X).tolist() == cropped_and_padded("constant").tolist()


def test_pads_that_cut_off_more_than_there_is_are_a_fault() -> None:
    pads = np.array([0, -3, 0, 0, -2, 0])
    with pytest.raises(MalformedModelError, match="its pads cut off 5 elements of 4"):
        imported(one_node("Pad", X, pads, known=(1,)))


def test_pads_are_two_for_each_axis() -> None:
    with pytest.raises(MalformedModelError, match="expected two pads for each axis"):
        imported(one_node("Pad", X, np.array([1, 1]), known=(1,)))
