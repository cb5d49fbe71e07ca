"""A multilayer perceptron of three layers."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.ir.module import IRModule
from parpass.relay.expr import Function, var
from parpass.relay.op import nn
from parpass.runtime.ndarray import NDArray
from tests.support.relay.networks.layers import Layers, network
from tests.support.relay.networks.workload import create_workload


def get_net(
    batch_size: int,
    num_classes: int = 10,
    image_shape: Sequence[int] = (1, 28, 28),
    dtype: str = "float32",
) -> Function:
    """Return the function; its parameter `data` is a batch of images."""
    layers = Layers(dtype)
    body = nn.batch_flatten(var("data", shape=(batch_size, *image_shape), dtype=dtype))
    body = nn.relu(layers.dense(body, "fc1", 128))
    body = nn.relu(layers.dense(body, "fc2", 64))
    return network(nn.softmax(layers.dense(body, "fc3", num_classes)))


def get_workload(
    batch_size: int,
    num_classes: int = 10,
    image_shape: Sequence[int] = (1, 28, 28),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """Return a module with the network, and values for its weights by name."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
