"""MobileNet.

Source: Howard et al., MobileNets: Efficient Convolutional Neural Networks for Mobile
Vision Applications, 2017, table 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from parpass.ir.module import IRModule
from parpass.relay.expr import Expr, Function, var
from parpass.relay.op import nn
from parpass.runtime.ndarray import NDArray
from tests.support.relay.networks.layers import Layers, network
from tests.support.relay.networks.workload import create_workload

# Of each block the channels that come out, and the stride.
_BLOCKS = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1),) * 5,
    *((1024, 2), (1024, 1)),
)


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """Return the function; its parameter `data` is a batch of images.

    Raises:
        ArgumentError: The layout is neither NCHW nor NHWC.
    """
    layers = Layers(dtype, layout)
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    channels = 32
    body = layers.conv2d(body, "conv_block_1_conv", channels, strides=2)
    body = nn.relu(layers.batch_norm(body, "conv_block_1_bn"))
    for number, (wider, strides) in enumerate(_BLOCKS, 1):
        name = f"separable_conv_block_{number}"
        body = _separable(layers, body, name, channels, wider, strides)
        channels = wider
    return network(layers.classes(body, "fc", num_classes))


def _separable(
    layers: Layers, data: Expr, name: str, channels: int, wider: int, strides: int
) -> Expr:
    """Add a convolution in each channel, then one over the channels of each point."""
    data = layers.conv2d(data, name, channels, strides=strides, groups=channels)
    data = nn.relu(layers.batch_norm(data, f"{name}_bn1"))
    data = layers.conv2d(data, f"{name}_conv2", wider, kernel_size=1)
    return nn.relu(layers.batch_norm(data, f"{name}_bn2"))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, NDArray]]:
    """Return a module with the network, and values for its weights by name."""
    net = get_net(batch_size, num_classes, image_shape, dtype, layout)
    return create_workload(net)
