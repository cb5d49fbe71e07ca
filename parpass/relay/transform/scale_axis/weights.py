"""The operators that take a scale into their weights: convolutions and `nn.dense`."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from parpass.ir.operators.op_table import Op
from parpass.ir.types.ty import Dim
from parpass.relay.expr import Call
from parpass.relay.op import multiply
from parpass.relay.transform.scale_axis.scale import (
    Demand,
    Need,
    Scale,
    tensor_type,
)

_CONVOLUTIONS = frozenset({"nn.conv1d", "nn.conv2d", "nn.conv3d"})


class _Axes(NamedTuple):
    """Where the channels are: of the data, the result, and the weight for both."""

    data: tuple[int, ...]
    result: tuple[int, ...]
    weight_in: tuple[int, ...]
    weight_out: tuple[int, ...]


def is_foldable(call: Call, *, forward: bool) -> Demand | None:
    """Return the scale of its data, or of its result, that a call can take over."""
    axes = _axes(call)
    if axes is None:
        return None
    return Demand(axes.data if forward else axes.result, Need.ANY)


def with_scaled_weight(call: Call, new: Call, scale: Scale, *, forward: bool) -> Call:
    """Return a foldable call with a scale in its weight.

    Args:
        call: The call, with types.
        new: The call as it is rewritten so far.
        scale: The scale.
        forward: Whether it is the data's scale, or the result's.
    """
    axes = _axes(call)
    assert axes is not None
    by = scale.along(axes.weight_in if forward else axes.weight_out, call.args[1])
    args = (new.args[0], multiply(new.args[1], by))
    return replace(new, args=args, checked_type_=None)


def _axes(call: Call) -> _Axes | None:
    if not isinstance(call.op, Op) or len(call.args) != 2:
        return None
    data, weight, result = (tensor_type(expr) for expr in (*call.args, call))
    if data is None or weight is None or result is None:
        return None
    if {weight.dtype, result.dtype} != {data.dtype}:
        return None  # a scale has the dtype of what it scales
    if call.op.name == "nn.dense":
        last = len(data.shape) - 1
        return _Axes((last,), (last,), (1,), (0,))
    if call.op.name in _CONVOLUTIONS:
        return _convolution_axes(call.attrs, weight.shape)
    return None


def _convolution_axes(attrs: Any, weight: tuple[Dim, ...]) -> _Axes | None:
    data, kernel = _letters(attrs.data_layout), _letters(attrs.kernel_layout)
    result = _letters(attrs.out_layout or attrs.data_layout)
    small = ["c" in data, "c" in result, "i" in kernel, "o" in kernel]
    if any(small) != all(small):
        return None
    blocks = all(small)
    outputs = _positions(kernel, "Oo" if blocks else "O")
    inputs = _positions(kernel, "Ii" if blocks else "I")
    lengths = [_product(weight, outputs), _product(weight, inputs)]
    is_depthwise = lengths == [attrs.groups, 1]
    if attrs.groups != 1 and not is_depthwise:
        return None
    channels = "Cc" if blocks else "C"
    return _Axes(
        _positions(data, channels),
        _positions(result, channels),
        outputs if is_depthwise else inputs,
        outputs,
    )


def _letters(layout: str) -> list[str]:
    return [letter for letter in layout if letter.isalpha()]


def _positions(letters: list[str], wanted: str) -> tuple[int, ...]:
    return tuple(letters.index(letter) for letter in wanted)


def _product(shape: tuple[Dim, ...], axes: tuple[int, ...]) -> int | None:
    total = 1
    for axis in axes:
        dim = shape[axis]
        if not isinstance(dim, int):
            return None
        total *= dim
    return total
