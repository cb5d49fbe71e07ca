"""The operators that take a scale into their weights: convolutions and `nn.dense`."""

from __future__ import annotations

from typing import Any, NamedTuple

from parpass.ir.op_table import Op
from parpass.ir.ty import Dim
from parpass.relay.expr import Call, Expr
from parpass.relay.op import multiply
from parpass.relay.transform.scale_axis.scale import (
    Demand,
    Need,
    along_axes,
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


def scaled_weight(
    call: Call, weight: Expr, scale: Expr, *, is_scalar: bool, forward: bool
) -> Expr:
    """Return the weight of a foldable call with a scale in it.

    Args:
        call: The call, with types.
        weight: Its weight, which may be rewritten.
        scale: The scale, one dimension for each axis of the demand.
        is_scalar: Whether the scale is one number.
        forward: Whether it is the data's scale, or the result's.
    """
    axes = _axes(call)
    found = tensor_type(call.args[1])
    assert axes is not None
    assert found is not None
    along = axes.weight_in if forward else axes.weight_out
    return multiply(weight, along_axes(scale, is_scalar, found.shape, along))


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
