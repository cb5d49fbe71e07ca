"""Converters of Fourier transforms, as products by constant matrices.

The last axis of a tensor has the parts of a number: its real part, and its imaginary
part if it is complex.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parpass.ir.types import Dim
from parpass.relay import op
from parpass.relay.expr import Expr, const
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.relay.frontend.onnx.operators.axes import element, normal_axis, shape_of
from parpass.relay.frontend.onnx.operators.elementwise import in_wide_floats
from parpass.runtime.dtypes import is_float_dtype

_MOST_NUMBERS = 2**26  # in matrices: a quarter of a gigabyte of float32
_FEWER = 5  # times: with so few products, two steps take less time than one
_KINDS = {1: "real", 2: "complex"}


class _Transform(NamedTuple):
    """A transform of numbers.

    Attributes:
        length: How many numbers a period has.
        taken: How many go in; those that are missing are 0.
        given: How many come out.
        parts: The parts of each that goes in.
        new_parts: The parts of each that comes out.
        inverse: Whether it goes from frequencies to a signal, times the length.
    """

    length: int
    taken: int
    given: int
    parts: int
    new_parts: int
    inverse: bool

    @property
    def size(self) -> int:
        """How many numbers the matrix has."""
        return self.given * self.new_parts * self.taken * self.parts

    def matrix(self, dtype: str) -> npt.NDArray[np.floating]:
        """Return the matrix, of shape (numbers out, parts, numbers in, parts)."""
        turns = np.arange(self.length) * (2 * np.pi / self.length)
        cosines = np.cos(turns).astype(dtype)
        sines = np.sin(-turns if self.inverse else turns).astype(dtype)
        at = np.outer(np.arange(self.given), np.arange(self.taken)) % self.length
        rows = ((cosines, sines), (-sines, cosines))[: self.new_parts]
        found = [np.stack([one[at] for one in row[: self.parts]], -1) for row in rows]
        return np.stack(found, 1)

    def steps(self) -> _Steps:
        """Return two transforms that take much fewer products, or this one.

        The length is `n1 * n2`. The first one is from `t1` to `k1`, for each `t2`: a
        number that goes in has the place `t1 * n2 + t2`. The second one is from `t2` to
        `k2`, for each `k1`: a number that comes out has the place `k2 * n1 + k1`.
        """
        small = [n for n in range(2, isqrt(self.length) + 1) if self.length % n == 0]
        ways: list[_Steps] = [(self,)]
        for n1 in sorted({*small, *(self.length // n for n in small)}):
            n2 = self.length // n1
            first = self._replace(
                length=n1, taken=-(-self.taken // n2), given=n1, new_parts=2
            )
            rounded = -(-self.given // n1) * n1
            ways.append((first, self._replace(taken=n2, given=rounded, parts=2)))
        return min(ways, key=_cost)


_Steps = tuple[_Transform, ...]


def _cost(steps: _Steps) -> int:
    """Return how many products there are, those of two steps counted several times."""
    if len(steps) == 1:
        return steps[0].size
    first, second = steps
    return _FEWER * (second.taken * first.size + second.size)


class _Signal(NamedTuple):
    """A signal, or its frequencies, which are transformed.

    Attributes:
        outer: The lengths of the axes before the one that is transformed.
        there: The length of that one.
        parts: The parts of a number.
    """

    outer: Sequence[Dim]
    there: int
    parts: int


def _planned(
    node: OnnxNode, signal: _Signal, length: int, *, inverse: bool, onesided: bool
) -> tuple[_Transform, _Steps]:
    """Return a transform, and its steps.

    Args:
        node: The node.
        signal: The numbers that go in.
        length: The length of the transform; what is behind it does not count.
        inverse: Whether it goes from frequencies to a signal.
        onesided: Whether the signal is real, and its frequencies are those up to half
            of the length, since the others are conjugates.

    Raises:
        MalformedModelError: ONNX does not allow it.
        FrontendError: It is too long.
    """
    if length < 1:
        raise node.fault(f"expected a transform of length 1 or more, got {length}")
    expected, parts = 2 if inverse else 1, signal.parts
    if onesided and parts != expected:
        raise node.fault(
            f"expected {_KINDS[expected]} numbers where onesided is 1 and inverse is "
            f"{int(inverse)}, got {_KINDS[parts]} ones, a last axis of length {parts}; "
            "set onesided to 0"
        )
    half = length // 2 + 1
    whole = _Transform(
        length,
        taken=min(signal.there, half if onesided and inverse else length),
        given=half if onesided and not inverse else length,
        parts=parts,
        new_parts=1 if onesided and inverse else 2,
        inverse=inverse,
    )
    unknown = sum(not isinstance(one, int) for one in signal.outer)
    # A step is by a matrix at least as long; the rows of two steps are one axis.
    in_two = length <= _MOST_NUMBERS and unknown < 2
    steps = whole.steps() if in_two else (whole,)
    numbers = sum(step.size for step in steps)
    if numbers > _MOST_NUMBERS:
        raise node.refusal(
            f"expected at most {_MOST_NUMBERS} numbers in the matrices of a transform, "
            f"got {numbers} for length {length}; take a shorter one, or one that is a "
            "product of factors"
        )
    return whole, steps


def _in_one_step(data: Expr, how: _Transform, rank: int, dtype: str) -> Expr:
    """Return the transform of the last axis but one."""
    rest = (0,) * (rank - 2)
    weight = how.matrix(dtype).reshape(how.given * how.new_parts, -1)
    product = op.nn.dense(op.reshape(data, (*rest, -3)), const(weight))
    return op.reshape(product, (*rest, -4, how.given, how.new_parts))


def _in_two_steps(
    data: Expr,
    whole: _Transform,
    steps: _Steps,
    outer: Sequence[Dim],
    dtype: str,
) -> Expr:
    """Return the transform of the last axis but one."""
    first, second = steps
    n1, n2, parts = first.given, second.taken, second.new_parts
    missing = first.taken * n2 - whole.taken
    rows = op.reshape(data, (-1, whole.taken, whole.parts))
    rows = op.nn.pad(rows, ((0, 0), (0, missing), (0, 0)))
    by_place = op.reshape(rows, (0, -4, first.taken, n2, 0))
    for_each = op.reshape(op.transpose(by_place, (0, 2, 1, 3)), (0, 0, -3))
    weight = first.matrix(dtype).reshape(2 * n1, -1)
    half = op.reshape(op.nn.dense(for_each, const(weight)), (0, 0, -4, n1, 2))
    half = op.reshape(op.transpose(half, (2, 0, 1, 3)), (0, 0, -3))
    count = second.given // n1
    weights = second.matrix(dtype).reshape(count, n1, parts, n2, 2)
    weights = weights.transpose(1, 0, 2, 3, 4).reshape(n1, count * parts, 2 * n2)
    found = op.nn.batch_matmul(half, const(weights))
    found = op.reshape(found, (0, 0, -4, count, parts))
    found = op.reshape(op.transpose(found, (1, 2, 0, 3)), (0, -3, 0))
    found = op.strided_slice(found, [0], [whole.given], axes=[1])
    sizes = (one if isinstance(one, int) else -1 for one in outer)
    return op.reshape(found, (*sizes, whole.given, parts))


def _parts(node: OnnxNode, data: Expr) -> int:
    """Return how many parts the numbers of a tensor have."""
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
    axis = _dft_axis(node, data)
    inverse = node.integer("inverse", 0) != 0
    onesided = node.integer("onesided", 0) != 0
    parts, (there,) = _parts(node, data), node.lengths(data, [axis])
    if node.optional(1) is not None:
        length = int(node.known_number(1, "dft_length"))
    else:
        length = 2 * (there - 1) if inverse and onesided else there
    order = [at for at in range(rank) if at != axis]
    order.insert(-1, axis)
    outer = [node.dims(data)[at] for at in order[:-2]]
    signal = _Signal(outer, there, parts)
    whole, steps = _planned(node, signal, length, inverse=inverse, onesided=onesided)

    def build(data: Expr) -> Expr:
        dtype = node.dtype(data)
        data = op.transpose(data, order)
        data = op.strided_slice(data, [0], [whole.taken], axes=[rank - 2])
        if inverse:
            # Of one side, all but the first and the last frequency stand for two.
            times = np.full((whole.taken, 1), 1 / length, dtype)
            times[1 : (length + 1) // 2] *= 2 if onesided else 1
            data = op.multiply(data, const(times))
        if len(steps) == 1:
            found = _in_one_step(data, whole, rank, dtype)
        else:
            found = _in_two_steps(data, whole, steps, outer, dtype)
        return op.transpose(found, [order.index(at) for at in range(rank)])

    return in_wide_floats(node, build, data)


def _dft_axis(node: OnnxNode, data: Expr) -> int:
    given = -2
    if node.opset < 20:
        given = node.integer("axis", 1)
    elif node.optional(2) is not None:
        given = int(node.known_number(2, "axis"))
    axis = normal_axis(node, given, node.dims(data))
    if axis == node.rank(data) - 1:
        raise node.fault(
            f"axis {given} is that of the parts of numbers, not of a signal"
        )
    return axis


def _stft(node: OnnxNode) -> Expr:
    """As for ONNX Runtime, a real signal may lack the axis of length 1."""
    data, window = node.input(0), node.optional(2)
    if node.rank(data) == 2:
        data = op.expand_dims(data, -1)
    data = node.of_rank(3, data, "signal")
    parts, (batch, there, _) = _parts(node, data), node.dims(data)
    step = int(node.known_number(1, "frame_step"))
    if step < 1:
        raise node.fault(f"expected a frame_step of 1 or more, got {step}")
    length = _frame_length(node, data, window)
    if isinstance(there, int) and there < length:
        raise node.fault(
            f"expected a signal of {length} numbers or more, as many as a frame, got "
            f"{there}"
        )
    end = op.subtract(element(shape_of(node, data), 1), const(np.int64(length - 1)))
    starts = op.arange(const(np.int64(0)), node.folded(end), step, "int32")
    outer = (batch, *node.dims(starts))
    whole, steps = _planned(
        *(node, _Signal(outer, length, parts), length),
        inverse=False,
        onesided=node.integer("onesided", 1) != 0,
    )

    def convolved(data: Expr, *window: Expr) -> Expr:
        """A window that slides over the signal."""
        matrix = whole.matrix(node.dtype(data)).transpose(0, 1, 3, 2)
        weight: Expr = const(matrix.reshape(-1, parts, length))
        for one in window:
            weight = op.multiply(weight, one)
        found = op.nn.conv1d(
            op.transpose(data, (0, 2, 1)),
            weight,
            strides=step,
            channels=2 * whole.given,
            kernel_size=length,
        )
        return op.reshape(op.transpose(found, (0, 2, 1)), (0, 0, -4, whole.given, 2))

    def of_frames(data: Expr, *window: Expr) -> Expr:
        places = const(np.arange(length, dtype="int32"))
        frames = op.take(data, op.add(op.expand_dims(starts, 1), places), 1)
        for one in window:
            frames = op.multiply(frames, op.expand_dims(one, 1))
        return _in_two_steps(frames, whole, steps, outer, node.dtype(data))

    build = convolved if len(steps) == 1 else of_frames
    return in_wide_floats(node, build, data, *([] if window is None else [window]))


def _frame_length(node: OnnxNode, data: Expr, window: Expr | None) -> int:
    width = None if window is None else node.count(window, "window")
    if node.optional(3) is not None:
        length = int(node.known_number(3, "frame_length"))
    else:
        length = node.lengths(data, [1])[0] if width is None else width
    if width not in (None, length):
        raise node.fault(
            f"expected a window of as many numbers as a frame, {length}, got {width}"
        )
    return length


SPECTRUM: dict[str, Converter] = {"DFT": _dft, "STFT": _stft}
