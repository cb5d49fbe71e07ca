"""The simplifying passes on networks that nobody here wrote: the same values."""

from __future__ import annotations

import numpy as np
import pytest

from examples.real_networks import example_input, load
from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.relay import transform
from parpass.relay.interpreter.interpreter import evaluate
from parpass.transform import PassContext, Sequential
from tests.support.onnx.models import imported

CONV = relay.op.get("nn.conv2d")


def convolutions(mod: IRModule) -> int:
    return sum(getattr(node, "op", None) is CONV for node in post_order(mod["main"]))


@pytest.mark.slow
def test_the_branches_of_an_inception_network_are_joined() -> None:
    before = transform.InferType()(imported(load("inception_v1")))
    after = transform.CombineParallelConv2D()(before)
    assert (convolutions(before), convolutions(after)) == (57, 39)


@pytest.mark.stress
@pytest.mark.parametrize("name", ["inception_v1", "densenet121", "shufflenet"])
def test_a_network_gives_the_same_values(name: str) -> None:
    model = load(name)
    before = transform.InferType()(imported(model))
    passes = [
        transform.SimplifyInference(),
        transform.CanonicalizeOps(),
        transform.SimplifyExpr(),
        transform.CombineParallelConv2D(),
        transform.FastMath(),
    ]
    with PassContext(opt_level=4):
        after = Sequential(passes)(before)
    image = list(example_input(model).values())
    expected, got = (
        np.asarray(evaluate(mod["main"], image, mod)) for mod in (before, after)
    )
    np.testing.assert_allclose(got, expected, atol=1e-3 * expected.max(), rtol=0)
