"""Networks of TVM's own: what analyses, types and the interpreter make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parpass as tvm
from parpass import relay
from parpass.relay.testing import count_ops, run_infer_type
from tests.support.relay.networks import mlp, mobilenet, resnet


def test_a_perceptron_runs() -> None:
    mod, params = mlp.get_workload(1)
    executor = relay.create_executor("graph", mod, tvm.cpu(0), "llvm", params)
    found: Any = executor.evaluate()(np.ones((1, 1, 28, 28), "float32"))
    found = found.numpy()
    np.testing.assert_allclose(found.sum(), 1, rtol=1e-5)
    assert found.std() > 0


@pytest.mark.slow
def test_mobilenet_has_the_weights_of_its_paper() -> None:
    net = run_infer_type(mobilenet.get_net())
    assert len(net.params) == 1 + 27 * 5 + 2


@pytest.mark.slow
@pytest.mark.parametrize(("layers", "convolutions"), [(18, 21), (50, 53)])
def test_resnet_has_its_convolutions(layers: int, convolutions: int) -> None:
    net = resnet.get_net(num_layers=layers)
    assert count_ops(net)["nn.conv2d"] == convolutions
    assert run_infer_type(net).ret_type == relay.TensorType((1, 1000), "float32")


@pytest.mark.slow
def test_the_layouts_of_an_image_give_one_result() -> None:
    images = np.random.default_rng(0).random((1, 3, 28, 28), "float32")
    results: list[Any] = []
    for layout, axes in (("NCHW", (0, 1, 2, 3)), ("NHWC", (0, 2, 3, 1))):
        data = images.transpose(axes)
        mod, params = mobilenet.get_workload(
            num_classes=5, image_shape=data.shape[1:], layout=layout
        )
        same = {
            name: np.full(one.shape, 0.01, "float32") for name, one in params.items()
        }
        run = relay.create_executor("graph", mod, params=same).evaluate()
        results.append(run(data).numpy())
    np.testing.assert_allclose(*results, rtol=1e-4)
