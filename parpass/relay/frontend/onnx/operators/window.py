"""Converters of convolution and pooling on signals, images and volumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from parpass.relay import op
from parpass.relay.expr import Expr, Tuple, TupleWrapper, const
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators.elementwise import in_wide_floats
from parpass.runtime.dtypes import is_float_dtype

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A sliding window.

    Attributes:
        padding: The padding before each axis, then after each.
        given_padding: That of the model. The padding is larger where the last window
            of ceil_mode would not fit in.
    """

    kernel: Ints
    strides: Ints
    dilations: Ints
    padding: Ints
    given_padding: Ints

    @classmethod
    def read(cls, node: OnnxNode, data: Expr, kernel: Ints) -> Window:
        """Return the window of a node that reads this data."""
        rank = len(kernel)
        strides = sizes(node, "strides", node.integers("strides"), rank)
        dilations = sizes(node, "dilations", node.integers("dilations"), rank)
        pads = node.integers("pads")
        auto_pad = node.text("auto_pad", "NOTSET")
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            image = node.lengths(data, range(2, rank + 2))
            ends = [
                _same(size, extent(k, d), stride, upper=auto_pad == "SAME_UPPER")
                for size, k, d, stride in zip(
                    image, kernel, dilations, strides, strict=True
                )
            ]
            pads = (*(before for before, _ in ends), *(after for _, after in ends))
        elif auto_pad == "VALID" or (auto_pad == "NOTSET" and pads is None):
            pads = (0,) * (2 * rank)
        elif auto_pad != "NOTSET":
            raise node.fault(f"auto_pad is '{auto_pad}', which ONNX does not know")
        if pads is None or len(pads) != 2 * rank or min(pads) < 0:
            count = {1: "two", 2: "four", 3: "six"}[rank]
            raise node.refusal(f"expected {count} pads from 0 up, got {pads}")
        return cls(kernel, strides, dilations, pads, pads)

    def rounded_up(self, image: Ints) -> Window:
        """Return the window of ceil_mode, as more padding at the ends.

        The number of windows is rounded up, but one that would start in the padding
        behind the data is left out, as ONNX and PyTorch have it.
        """
        rank = len(self.kernel)
        ends: list[int] = []
        for axis in range(rank):
            begin, end = self.padding[axis], self.padding[axis + rank]
            stride = self.strides[axis]
            size = image[axis] + begin
            covered = extent(self.kernel[axis], self.dilations[axis])
            count = -(-(size + end - covered) // stride) + 1
            if (count - 1) * stride >= size:
                count -= 1
            ends.append(max(0, (count - 1) * stride + covered - size))
        return replace(self, padding=(*self.padding[:rank], *ends))


def extent(kernel: int, dilation: int) -> int:
    """Return how much a window covers, the gaps of a dilation included."""
    return (kernel - 1) * dilation + 1


def _same(size: int, extent: int, stride: int, *, upper: bool) -> tuple[int, int]:
    """Return the padding with which there are as many windows as strides in `size`."""
    total = max(0, (-(-size // stride) - 1) * stride + extent - size)
    small, large = total // 2, total - total // 2
    return (small, large) if upper else (large, small)


def sizes(node: OnnxNode, what: str, values: Ints | None, rank: int) -> Ints:
    """Return a number from 1 up for each axis, 1 for all if nothing is said."""
    if values is None:
        return (1,) * rank
    if len(values) != rank or min(values) < 1:
        count = {1: "one number", 2: "two numbers", 3: "three numbers"}[rank]
        raise node.refusal(f"expected {count} from 1 up for {what}, got {values}")
    return values


_CONV = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
_MAX_POOL = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_AVG_POOL = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}
_GLOBAL_MAX = {
    1: op.nn.global_max_pool1d,
    2: op.nn.global_max_pool2d,
    3: op.nn.global_max_pool3d,
}
_GLOBAL_AVG = {
    1: op.nn.global_avg_pool1d,
    2: op.nn.global_avg_pool2d,
    3: op.nn.global_avg_pool3d,
}
_CONV_TRANSPOSE = {
    1: op.nn.conv1d_transpose,
    2: op.nn.conv2d_transpose,
    3: op.nn.conv3d_transpose,
}


def _weight_kernel(node: OnnxNode, weight: Expr, rank: int) -> Ints:
    """Return the lengths of the window, which model and weight must agree about."""
    shape = node.shape(weight)
    if len(shape) != rank + 2:
        raise node.fault(
            f"expected a weight of {rank + 2} dimensions, got {len(shape)}"
        )
    declared = node.integers("kernel_shape")
    if declared not in (None, shape[2:]):
        raise node.fault(f"kernel_shape is {declared}, but the weight's is {shape[2:]}")
    return shape[2:]


def _conv(node: OnnxNode) -> Expr:
    result = conv_of(node, node.input(0), node.input(1))
    bias = node.optional(2)
    return result if bias is None else op.nn.bias_add(result, bias)


def conv_of(node: OnnxNode, data: Expr, weight: Expr) -> Expr:
    """Return the convolution that a node's attributes describe."""
    rank = _spatial_rank(node, data)
    kernel = _weight_kernel(node, weight, rank)
    window = Window.read(node, data, sizes(node, "kernel", kernel, rank))
    return _CONV[rank](
        data,
        weight,
        strides=window.strides,
        padding=window.padding,
        dilation=window.dilations,
        groups=node.integer("group", 1),
        channels=node.shape(weight)[0],
        kernel_size=window.kernel,
    )


def _conv_transpose(node: OnnxNode) -> Expr:
    data, rank = _spatial(node)
    weight = node.input(1)
    kernel = _weight_kernel(node, weight, rank)
    strides = sizes(node, "strides", node.integers("strides"), rank)
    dilations = sizes(node, "dilations", node.integers("dilations"), rank)
    longer = node.integers("output_padding") or (0,) * rank
    longest = [
        extent(k, d) - s + more
        for s, k, d, more in zip(strides, kernel, dilations, longer, strict=True)
    ]
    cut, longer = _cut(node, data, longest, strides, longer)
    result = _CONV_TRANSPOSE[rank](
        data,
        weight,
        strides=strides,
        padding=cut,
        dilation=dilations,
        groups=node.integer("group", 1),
        output_padding=longer,
    )
    bias = node.optional(2)
    return result if bias is None else op.nn.bias_add(result, bias)


def _cut(
    node: OnnxNode, data: Expr, longest: list[int], strides: Ints, longer: Ints
) -> tuple[Ints, Ints]:
    """Return what to cut off before and behind each axis, and how much to add.

    Args:
        node: The node.
        data: What it reads.
        longest: By how much results are longer than the data, times the strides.
        strides: The strides.
        longer: How much the node itself adds.
    """
    rank = len(strides)
    pads, wanted = node.integers("pads"), node.integers("output_shape")
    auto_pad = node.text("auto_pad", "NOTSET")
    if wanted is not None:
        image = node.lengths(data, range(2, rank + 2))
        grown = [n * s for n, s in zip(image, strides, strict=True)]
        triples = zip(wanted[-rank:], grown, longest, strict=True)
        missing = [want - n - more for want, n, more in triples]
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        missing = [-more for more in longest]
    else:
        return pads or (0,) * (2 * rank), longer
    longer = tuple(m + max(more, 0) for m, more in zip(longer, missing, strict=True))
    total = [max(-more, 0) for more in missing]
    small, large = [one // 2 for one in total], [one - one // 2 for one in total]
    if auto_pad == "SAME_UPPER":
        return (*small, *large), longer
    return (*large, *small), longer


def _max_pool(node: OnnxNode) -> Expr | TupleWrapper:
    by_columns = node.integer("storage_order", 0) != 0
    data, rank = _spatial(node)
    window = _pooling_window(node, data, rank)
    largest = _MAX_POOL[rank](
        data,
        pool_size=window.kernel,
        strides=window.strides,
        dilation=window.dilations,
        padding=window.padding,
    )
    if not node.is_read(1):
        return largest
    places = _places(node, data, largest, window, by_columns=by_columns)
    return TupleWrapper(Tuple((largest, places)), 2)


def _places(
    node: OnnxNode, data: Expr, largest: Expr, window: Window, *, by_columns: bool
) -> Expr:
    """Return where the first largest element of each window is in the flat data.

    Args:
        node: The node.
        data: The data.
        largest: The largest elements.
        window: The window.
        by_columns: Whether the first axis of an image is counted through first, not
            the last one.
    """
    batch, channels, *image = node.shape(data)
    counts, rank = node.shape(largest)[2:], len(image)
    order = "F" if by_columns else "C"
    flat = np.arange(prod(image)).reshape(image, order=order)
    widths = [*zip(window.padding[:rank], window.padding[rank:], strict=True)]
    flat = np.pad(flat, widths, constant_values=-1)  # which no element has
    padded = _padded(data, window.padding)
    found: Expr = const(np.full(counts, -1))
    for step in reversed([*np.ndindex(*window.kernel)]):
        begin = [k * d for k, d in zip(step, window.dilations, strict=True)]
        triples = zip(begin, counts, window.strides, strict=True)
        end = [first + (count - 1) * stride + 1 for first, count, stride in triples]
        read = zip(begin, end, window.strides, strict=True)
        place = flat[tuple(slice(*one) for one in read)]
        axes = range(2, rank + 2)
        value = op.strided_slice(padded, begin, end, window.strides, axes)
        is_largest = op.equal(value, largest)
        if is_float_dtype(node.dtype(data)):
            is_largest = op.logical_or(is_largest, op.isnan(value))
        is_first = op.logical_and(is_largest, const(place >= 0))
        found = op.where(is_first, const(place), found)
    planes = np.arange(batch * channels).reshape(batch, channels, *(1,) * rank)
    return op.add(found, const(planes * prod(image)))


def _average_pool(node: OnnxNode) -> Expr:
    data, rank = _spatial(node)
    count_include_pad = node.integer("count_include_pad", 0) != 0
    window = _pooling_window(node, data, rank)
    if count_include_pad:
        # Padding counts, what ceil_mode adds behind it does not.
        own = tuple(map(min, window.padding, window.given_padding))
        if own != window.padding:
            rest = tuple(n - one for n, one in zip(window.padding, own, strict=True))
            data = _padded(data, own)
            window, count_include_pad = replace(window, padding=rest), False
    return _AVG_POOL[rank](
        data,
        pool_size=window.kernel,
        strides=window.strides,
        dilation=window.dilations,
        padding=window.padding,
        count_include_pad=count_include_pad,
    )


def _padded(data: Expr, padding: Ints) -> Expr:
    rank = len(padding) // 2
    widths = [(0, 0), (0, 0), *zip(padding[:rank], padding[rank:], strict=True)]
    return op.nn.pad(data, widths)


def _lp_pool(node: OnnxNode) -> Expr:
    """The sum of powers is a mean of them, times how many there are."""
    data, rank = _spatial(node)
    p = node.integer("p", 2)
    window = _pooling_window(node, data, rank)

    def length(data: Expr) -> Expr:
        mean = _AVG_POOL[rank](
            _power(node, data, p),
            pool_size=window.kernel,
            strides=window.strides,
            dilation=window.dilations,
            padding=window.padding,
            count_include_pad=True,
        )
        total = op.multiply(mean, node.scalar(prod(window.kernel), data))
        return op.power(total, node.scalar(1 / p, data))

    return in_wide_floats(node, length, data)


def _power(node: OnnxNode, data: Expr, p: int) -> Expr:
    return op.power(op.abs(data), node.scalar(p, data))


def _global_lp_pool(node: OnnxNode) -> Expr:
    data, rank = _spatial(node)
    p = node.integer("p", 2)
    axes = tuple(range(2, rank + 2))

    def length(data: Expr) -> Expr:
        total = op.sum(_power(node, data, p), axes, keepdims=True)
        return op.power(total, node.scalar(1 / p, data))

    return in_wide_floats(node, length, data)


def _global_pool(builders: Mapping[int, Callable[[Expr], Expr]]) -> Converter:
    def convert(node: OnnxNode) -> Expr:
        data, rank = _spatial(node)
        return builders[rank](data)

    return convert


def _pooling_window(node: OnnxNode, data: Expr, rank: int) -> Window:
    kernel = node.integers("kernel_shape")
    if kernel is None:
        raise node.fault("expected the attribute 'kernel_shape', got none")
    window = Window.read(node, data, sizes(node, "kernel_shape", kernel, rank))
    if not node.integer("ceil_mode", 0):
        return window
    return window.rounded_up(node.lengths(data, range(2, rank + 2)))


def _spatial(node: OnnxNode) -> tuple[Expr, int]:
    """Return the data and how many axes a window slides along."""
    data = node.input(0)
    return data, _spatial_rank(node, data)


def _spatial_rank(node: OnnxNode, data: Expr) -> int:
    rank = node.rank(data)
    if rank not in (3, 4, 5):
        raise node.refusal(
            "only signals, images and volumes are supported, data of 3, 4 or 5 "
            f"dimensions; this has {rank}"
        )
    return rank - 2


WINDOW: dict[str, Converter] = {
    "AveragePool": _average_pool,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "GlobalAveragePool": _global_pool(_GLOBAL_AVG),
    "GlobalLpPool": _global_lp_pool,
    "GlobalMaxPool": _global_pool(_GLOBAL_MAX),
    "LpPool": _lp_pool,
    "MaxPool": _max_pool,
}
