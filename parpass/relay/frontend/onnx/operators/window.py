"""Convolution and pooling: what slides a window over an image."""

from __future__ import annotations

from dataclasses import dataclass

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.node import Node
from parpass.relay.frontend.onnx.operators.signature import Converter

Pair = tuple[int, int]


def _conv(node: Node) -> Expr:
    data, weight = _image(node), node.input(1)
    shape = node.shape(weight)
    if len(shape) != 4:
        raise node.fault(f"expected a weight of 4 dimensions, got {len(shape)}")
    kernel = shape[2:]
    declared = node.integers("kernel_shape")
    if declared not in (None, kernel):
        raise node.fault(f"kernel_shape is {declared}, but the weight's is {kernel}")
    window = _Window.read(node, node.shape(data), _pair(node, "kernel", kernel))
    result = op.nn.conv2d(
        data,
        weight,
        strides=window.strides,
        padding=window.padding,
        dilation=window.dilations,
        groups=node.integer("group", 1),
        channels=shape[0],
        kernel_size=window.kernel,
    )
    bias = node.optional(2)
    return result if bias is None else op.nn.bias_add(result, bias)


def _max_pool(node: Node) -> Expr:
    # The order of storage shows only in the second output, the indices.
    if node.integer("storage_order", 0) != 0:
        raise node.refusal("storage_order=1 is not supported")
    data = _image(node)
    window = _pooling_window(node, data)
    return op.nn.max_pool2d(
        data,
        pool_size=window.kernel,
        strides=window.strides,
        dilation=window.dilations,
        padding=window.padding,
    )


def _average_pool(node: Node) -> Expr:
    data = _image(node)
    count_include_pad = node.integer("count_include_pad", 0) != 0
    window = _pooling_window(node, data)
    if count_include_pad and window.is_extended:
        raise node.refusal("ceil_mode=1 with count_include_pad=1 is not supported")
    return op.nn.avg_pool2d(
        data,
        pool_size=window.kernel,
        strides=window.strides,
        dilation=window.dilations,
        padding=window.padding,
        count_include_pad=count_include_pad,
    )


def _global_average_pool(node: Node) -> Expr:
    return op.nn.global_avg_pool2d(_image(node))


def _global_max_pool(node: Node) -> Expr:
    return op.nn.global_max_pool2d(_image(node))


@dataclass(frozen=True, slots=True)
class _Window:
    """How a window slides.

    Attributes:
        padding: Top, left, bottom, right.
        is_extended: Whether the padding is larger than the model says, for the last
            window of ceil_mode to fit in.
    """

    kernel: Pair
    strides: Pair
    dilations: Pair
    padding: tuple[int, int, int, int]
    is_extended: bool = False

    @classmethod
    def read(cls, node: Node, shape: tuple[int, ...], kernel: Pair) -> _Window:
        """Return the window of a node that reads data of this shape."""
        strides = _pair(node, "strides", node.integers("strides"))
        dilations = _pair(node, "dilations", node.integers("dilations"))
        pads = node.integers("pads")
        auto_pad = node.text("auto_pad", "NOTSET")
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            ends = [
                _same(size, _extent(k, d), stride, upper=auto_pad == "SAME_UPPER")
                for size, k, d, stride in zip(
                    shape[2:], kernel, dilations, strides, strict=True
                )
            ]
            pads = (ends[0][0], ends[1][0], ends[0][1], ends[1][1])
        elif auto_pad == "VALID" or (auto_pad == "NOTSET" and pads is None):
            pads = (0, 0, 0, 0)
        elif auto_pad != "NOTSET":
            raise node.fault(f"auto_pad is '{auto_pad}', which ONNX does not know")
        if pads is None or len(pads) != 4 or min(pads) < 0:
            raise node.refusal(f"expected four pads from 0 up, got {pads}")
        return cls(kernel, strides, dilations, (pads[0], pads[1], pads[2], pads[3]))

    def rounded_up(self, shape: tuple[int, ...]) -> _Window:
        """Return the window of ceil_mode, as more padding below and to the right.

        The number of windows is rounded up, but one that would start in the padding
        behind the data is left out, as ONNX and PyTorch have it.
        """
        ends: list[int] = []
        for axis in (0, 1):
            begin, end = self.padding[axis], self.padding[axis + 2]
            stride = self.strides[axis]
            size = shape[axis + 2] + begin
            extent = _extent(self.kernel[axis], self.dilations[axis])
            count = -(-(size + end - extent) // stride) + 1
            if (count - 1) * stride >= size:
                count -= 1
            ends.append(max(0, (count - 1) * stride + extent - size))
        padding = (self.padding[0], self.padding[1], ends[0], ends[1])
        is_extended = ends[0] > self.padding[2] or ends[1] > self.padding[3]
        return _Window(self.kernel, self.strides, self.dilations, padding, is_extended)


def _pooling_window(node: Node, data: Expr) -> _Window:
    kernel = node.integers("kernel_shape")
    if kernel is None:
        raise node.fault("expected the attribute 'kernel_shape', got none")
    shape = node.shape(data)
    window = _Window.read(node, shape, _pair(node, "kernel_shape", kernel))
    return window.rounded_up(shape) if node.integer("ceil_mode", 0) else window


def _extent(kernel: int, dilation: int) -> int:
    return (kernel - 1) * dilation + 1


def _same(size: int, extent: int, stride: int, *, upper: bool) -> Pair:
    """Return the padding with which there are as many windows as strides in `size`."""
    total = max(0, (-(-size // stride) - 1) * stride + extent - size)
    small, large = total // 2, total - total // 2
    return (small, large) if upper else (large, small)


def _image(node: Node) -> Expr:
    data = node.input(0)
    rank = len(node.shape(data))
    if rank != 4:
        raise node.refusal(
            f"only images are supported, data of 4 dimensions; this has {rank}"
        )
    return data


def _pair(node: Node, what: str, values: tuple[int, ...] | None) -> Pair:
    if values is None:
        return (1, 1)
    if len(values) != 2 or min(values) < 1:
        raise node.refusal(f"expected two numbers from 1 up for {what}, got {values}")
    return (values[0], values[1])


WINDOW: dict[str, Converter] = {
    "AveragePool": _average_pool,
    "Conv": _conv,
    "GlobalAveragePool": _global_average_pool,
    "GlobalMaxPool": _global_max_pool,
    "MaxPool": _max_pool,
}
