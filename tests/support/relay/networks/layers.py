"""Layers that make their own weights, under the names that TVM's networks give them."""

from __future__ import annotations

from parpass.errors import ArgumentError
from parpass.ir.types import TensorType
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Expr, Function, Var, var
from parpass.relay.op import nn
from parpass.relay.type_inference.built import BuiltTypes

_KERNEL_LAYOUTS = {"NCHW": ("OIHW", "OIHW"), "NHWC": ("HWIO", "HWOI")}


class Layers:
    """Adds layers to expressions; their weights have the shapes that the data asks for.

    Args:
        dtype: Of all weights.
        layout: Of images, `NCHW` or `NHWC`.
    """

    def __init__(self, dtype: str = "float32", layout: str = "NCHW") -> None:
        if layout not in _KERNEL_LAYOUTS:
            raise ArgumentError(f"expected layout 'NCHW' or 'NHWC', got '{layout}'")
        self.layout = layout
        self._dtype = dtype
        self._types = BuiltTypes()

    def conv2d(
        self,
        data: Expr,
        name: str,
        channels: int,
        kernel_size: int = 3,
        strides: int = 1,
        groups: int = 1,
    ) -> Expr:
        """Add a convolution that keeps the size of the image, if its stride is 1."""
        kernel_layout = _KERNEL_LAYOUTS[self.layout][groups > 1]
        lengths = {
            "O": channels if kernel_layout != "HWOI" else groups,
            "I": self._length(data, self.layout.index("C")) // groups,
            "H": kernel_size,
            "W": kernel_size,
        }
        shape = tuple(lengths[axis] for axis in kernel_layout)
        return nn.conv2d(
            data,
            self._weight(f"{name}_weight", shape),
            strides=(strides, strides),
            padding=(kernel_size // 2, kernel_size // 2),
            groups=groups,
            channels=channels,
            kernel_size=(kernel_size, kernel_size),
            data_layout=self.layout,
            kernel_layout=kernel_layout,
        )

    def batch_norm(
        self, data: Expr, name: str, epsilon: float = 1e-5, *, scale: bool = True
    ) -> Expr:
        """Add a batch normalisation over the channels, and take its first result."""
        axis = self.layout.index("C")
        channels = (self._length(data, axis),)
        parts = ("gamma", "beta", "moving_mean", "moving_var")
        weights = [self._weight(f"{name}_{part}", channels) for part in parts]
        return nn.batch_norm(data, *weights, axis=axis, epsilon=epsilon, scale=scale)[0]

    def dense(self, data: Expr, name: str, units: int) -> Expr:
        """Add a product with a matrix, and a bias."""
        weight = self._weight(f"{name}_weight", (units, self._length(data, -1)))
        product = nn.dense(data, weight, units=units)
        return nn.bias_add(product, self._weight(f"{name}_bias", (units,)), axis=-1)

    def classes(self, image: Expr, name: str, units: int) -> Expr:
        """Add what ends a network: the mean of each channel, and a probability a class.

        The weights are those of a dense layer.
        """
        means = nn.batch_flatten(nn.global_avg_pool2d(image, layout=self.layout))
        return nn.softmax(self.dense(means, name, units))

    def _length(self, data: Expr, axis: int) -> int:
        kind = self._types.tensor(data)
        length = kind.shape[axis]
        if not isinstance(length, int):
            raise ArgumentError(f"expected known lengths for weights, got {kind}")
        return length

    def _weight(self, name: str, shape: tuple[int, ...]) -> Var:
        return var(name, TensorType(shape, self._dtype))


def network(body: Expr) -> Function:
    """Return the function of a network over its data and weights, as they are met."""
    return Function(tuple(free_vars(body)), body)


__all__ = ["Layers", "network"]
