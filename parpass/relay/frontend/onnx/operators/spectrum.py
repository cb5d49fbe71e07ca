"""Converters of Fourier transforms, as products by a constant matrix.

The last axis of a tensor has the parts of a number: its real part, and its imaginary
part if it is complex.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parpass.relay import op
from parpass.relay.expr import Expr, const
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators.axes import normal_axis
from parpass.relay.frontend.onnx.operators.elementwise import in_wide_floats
from parpass.runtime.dtypes import is_float_dtype

_MOST_NUMBERS = 2**26  # in a matrix: a quarter of a gigabyte of float32
_KINDS = {1: "real", 2: "complex"}


def _matrix(
    node: OnnxNode,
    length: int,
    taken: int,
    parts: int,
    dtype: str,
    *,
    inverse: bool,
    onesided: bool,
) -> npt.NDArray[np.floating]:
    """Return what to multiply by, of shape (numbers out, parts, numbers in, parts).

    Args:
        node: The node.
        length: The length of the transform.
        taken: How many numbers go in; those that are missing are 0.
        parts: The parts of each that goes in.
        dtype: The dtype of the product.
        inverse: Whether it goes from frequencies to a signal.
        onesided: Whether the signal is real, and its frequencies are those up to half
            of the length, since the others are conjugates.

    Raises:
        MalformedModelError: The length or the parts are not what ONNX allows.
        FrontendError: The matrix would be too large.
    """
    if length < 1:
        raise node.fault(f"expected a transform of length 1 or more, got {length}")
    expected = 2 if inverse else 1
    if onesided and parts != expected:
        raise node.fault(
            f"expected {_KINDS[expected]} numbers where onesided is 1 and inverse is "
            f"{int(inverse)}, got {_KINDS[parts]} ones, a last axis of length {parts}; "
            "set onesided to 0"
        )
    count = length // 2 + 1 if onesided and not inverse else length
    numbers = 2 * count * taken * parts
    if numbers > _MOST_NUMBERS:
        raise node.refusal(
            f"expected at most {_MOST_NUMBERS} numbers in the matrix that a transform "
            f"is the product by, got {numbers} for length {length}; transform shorter "
            "pieces"
        )
    turns = np.arange(length) * ((-2 if inverse else 2) * np.pi / length)
    scale = 1 / length if inverse else 1
    places = np.outer(np.arange(count), np.arange(taken)) % length
    cosines = (scale * np.cos(turns)).astype(dtype)[places]
    sines = (scale * np.sin(turns)).astype(dtype)[places]
    real = np.stack([cosines, sines][:parts], -1)
    if onesided and inverse:  # each but the first and the last stands for two
        real[:, 1 : (length + 1) // 2] *= 2
        return real[:, None]
    return np.stack([real, np.stack([-sines, cosines][:parts], -1)], 1)


def _parts(node: OnnxNode, data: Expr) -> int:
    """Return how many parts the numbers of a signal have."""
    if not is_float_dtype(node.dtype(data)):
        raise node.fault(f"expected a signal of floats, got {node.dtype(data)}")
    (parts,) = node.lengths(data, [node.rank(data) - 1])
    if parts not in _KINDS:
        raise node.fault(
            "expected a last axis of length 1, for real numbers, or 2, for complex "
            f"ones, got {parts}"
        )
    return parts


def _dft(node: OnnxNode) -> Expr:
    data = node.input(0)
    rank = node.rank(data)
    if rank < 2:
        raise node.fault(f"expected a signal of 2 dimensions or more, got {rank}")
    given = -2
    if node.opset < 20:
        given = node.integer("axis", 1)
    elif node.optional(2) is not None:
        given = int(node.known_number(2, "axis"))
    axis = normal_axis(node, given, node.dims(data))
    if axis == rank - 1:
        raise node.fault(
            f"axis {given} is that of the parts of numbers, not of a signal"
        )
    inverse = node.integer("inverse", 0) != 0
    onesided = node.integer("onesided", 0) != 0
    (there,) = node.lengths(data, [axis])
    if node.optional(1) is not None:
        length = int(node.known_number(1, "dft_length"))
    else:
        length = 2 * (there - 1) if inverse and onesided else there
    most = length // 2 + 1 if inverse and onesided else length
    parts, taken = _parts(node, data), min(there, most)
    order = [at for at in range(rank) if at != axis]
    order.insert(-1, axis)

    def product(data: Expr) -> Expr:
        matrix = _matrix(
            *(node, length, taken, parts, node.dtype(data)),
            inverse=inverse,
            onesided=onesided,
        )
        count, new_parts = matrix.shape[:2]
        if taken < there:
            data = op.strided_slice(data, [0], [taken], axes=[axis])
        rest = (0,) * (rank - 2)
        rows = op.reshape(op.transpose(data, order), (*rest, -3))
        weight = const(matrix.reshape(count * new_parts, -1))
        found = op.reshape(op.nn.dense(rows, weight), (*rest, -4, count, new_parts))
        return op.transpose(found, np.argsort(order).tolist())

    return in_wide_floats(node, product, data)


def _stft(node: OnnxNode) -> Expr:
    """A window that slides over the signal is a convolution.

    As for ONNX Runtime, a real signal may lack the axis of length 1.
    """
    data, window = node.input(0), node.optional(2)
    if node.rank(data) == 2:
        data = op.expand_dims(data, -1)
    data = node.of_rank(3, data, "signal")
    parts = _parts(node, data)
    step = int(node.known_number(1, "frame_step"))
    if step < 1:
        raise node.fault(f"expected a frame_step of 1 or more, got {step}")
    width = None if window is None else node.count(window, "window")
    if node.optional(3) is not None:
        length = int(node.known_number(3, "frame_length"))
    else:
        length = node.lengths(data, [1])[0] if width is None else width
    if width not in (None, length):
        raise node.fault(
            f"expected a window of as many numbers as a frame, {length}, got {width}"
        )
    there = node.dims(data)[1]
    if isinstance(there, int) and there < length:
        raise node.fault(
            f"expected a signal of {length} numbers or more, as many as a frame, got "
            f"{there}"
        )
    onesided = node.integer("onesided", 1) != 0

    def product(data: Expr, *window: Expr) -> Expr:
        matrix = _matrix(
            *(node, length, length, parts, node.dtype(data)),
            inverse=False,
            onesided=onesided,
        )
        count = matrix.shape[0]
        rows = matrix.reshape(2 * count, length, parts).transpose(0, 2, 1)
        weight = op.multiply(const(rows), *window) if window else const(rows)
        found = op.nn.conv1d(
            op.transpose(data, (0, 2, 1)),
            weight,
            strides=step,
            channels=2 * count,
            kernel_size=length,
        )
        return op.reshape(op.transpose(found, (0, 2, 1)), (0, 0, -4, count, 2))

    return in_wide_floats(node, product, data, *([] if window is None else [window]))


SPECTRUM: dict[str, Converter] = {"DFT": _dft, "STFT": _stft}
