"""How a window slides along the axes of signals, images and volumes."""

from __future__ import annotations

from dataclasses import dataclass

from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.onnx_node import OnnxNode

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """How a window slides.

    Attributes:
        padding: What is added before each axis, then behind each.
        is_extended: Whether the padding is larger than the model says, for the last
            window of ceil_mode to fit in.
    """

    kernel: Ints
    strides: Ints
    dilations: Ints
    padding: Ints
    is_extended: bool = False

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
        return cls(kernel, strides, dilations, pads)

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
        padding = (*self.padding[:rank], *ends)
        is_extended = any(
            end > given for end, given in zip(ends, self.padding[rank:], strict=True)
        )
        return Window(self.kernel, self.strides, self.dilations, padding, is_extended)


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
