"""Residual networks that normalise before they convolve.

Source: He, Zhang, Ren and Sun, Identity Mappings in Deep Residual Networks, 2016. How
many units there are at which depth is as in TVM's network of that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from parpass.ir.module import IRModule
from parpass.relay.expr import Expr, Function, var
from parpass.relay.op import add, nn
from parpass.runtime.ndarray import NDArray
from tests.support.relay.networks.layers import Layers, network
from tests.support.relay.networks.workload import create_workload

# Units of each stage by the number of layers.
_UNITS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}
_EPSILON = 2e-5


class _Plan(NamedTuple):
    units: tuple[int, ...]  # of each stage
    channels: tuple[int, ...]  # before the first stage, and after each
    has_bottleneck: bool


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """Return the function; its parameter `data` is a batch of images."""
    layers = Layers(dtype, layout)
    plan = _plan(num_layers)
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = layers.batch_norm(data, "bn_data", _EPSILON, scale=False)
    body = _first(layers, body, plan.channels[0])
    for stage, (units, channels) in enumerate(
        zip(plan.units, plan.channels[1:], strict=True), 1
    ):
        for unit in range(1, units + 1):
            name = f"stage{stage}_unit{unit}"
            strides = 2 if stage > 1 and unit == 1 else 1
            body = _unit(layers, body, name, channels, strides, plan, is_new=unit == 1)
    body = nn.relu(layers.batch_norm(body, "bn1", _EPSILON))
    return network(layers.classes(body, "fc1", num_classes))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """Return a module with the network, and values for its weights by name."""
    net = get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype)
    return create_workload(net)


def _plan(num_layers: int) -> _Plan:
    deep = num_layers >= 50
    wide = (256, 512, 1024, 2048) if deep else (64, 128, 256, 512)
    return _Plan(_UNITS[num_layers], (64, *wide), deep)


def _first(layers: Layers, data: Expr, channels: int) -> Expr:
    body = layers.conv2d(data, "conv0", channels, kernel_size=7, strides=2)
    body = nn.relu(layers.batch_norm(body, "bn0", _EPSILON))
    return nn.max_pool2d(
        body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layers.layout
    )


def _unit(
    layers: Layers,
    data: Expr,
    name: str,
    channels: int,
    strides: int,
    plan: _Plan,
    *,
    is_new: bool,
) -> Expr:
    """Add convolutions, and what came in: as it is, or fitted where a stage begins."""
    narrow = channels // 4
    steps = [(channels, 3, strides), (channels, 3, 1)]
    if plan.has_bottleneck:
        steps = [(narrow, 1, strides), (narrow, 3, 1), (channels, 1, 1)]
    body = shortcut = data
    for number, (wide, kernel_size, stride) in enumerate(steps, 1):
        body = nn.relu(layers.batch_norm(body, f"{name}_bn{number}", _EPSILON))
        if number == 1 and is_new:
            shortcut = layers.conv2d(body, f"{name}_sc", channels, 1, strides)
        body = layers.conv2d(body, f"{name}_conv{number}", wide, kernel_size, stride)
    return add(body, shortcut)
