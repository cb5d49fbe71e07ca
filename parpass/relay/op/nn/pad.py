"""Padding of any axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, TypeRelationError, register_op
from parpass.ir.ty import Any as UnknownDim
from parpass.ir.ty import TensorType, Type
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.attributes import int_tuple, require_choice
from parpass.relay.op.build import call_op
from parpass.relay.op.relations import require_rank, tensors

Array = npt.NDArray[Any]


class PadAttrs(Attrs, frozen=True):
    """Attributes of `nn.pad`.

    Attributes:
        pad_width: How many elements to add before and after, for each axis.
        pad_mode: `constant` adds the pad value, `edge` the nearest element, `reflect`
            mirrors at the edge.
    """

    pad_width: tuple[tuple[int, int], ...]
    pad_mode: str = "constant"


def _pad_relation(types: Sequence[Type], attrs: PadAttrs) -> TensorType:
    data, value = tensors(types)
    require_rank(value, 0, "the pad value")
    return _padded(data, attrs.pad_width)


def _padded(data: TensorType, pad_width: tuple[tuple[int, int], ...]) -> TensorType:
    if len(pad_width) != len(data.shape):
        raise TypeRelationError(
            f"expected a pad_width for {len(pad_width)} dimensions, got {data}"
        )
    shape = tuple(
        dim if isinstance(dim, UnknownDim) else before + dim + after
        for dim, (before, after) in zip(data.shape, pad_width, strict=True)
    )
    return TensorType(shape, data.dtype)


def _pad(attrs: PadAttrs, data: Array, value: Array) -> Array:
    if not data.ndim:
        return data  # there are no axes, which numpy does not take
    if attrs.pad_mode == "constant":
        return np.pad(data, attrs.pad_width, constant_values=value.astype(data.dtype))
    mode = "edge" if attrs.pad_mode == "edge" else "reflect"
    return np.pad(data, attrs.pad_width, mode)


_PAD = register_op(
    Op("nn.pad", 2, _pad_relation, _pad, PadAttrs, pattern=OpPattern.INJECTIVE)
)


def pad(
    data: Expr,
    pad_width: Iterable[Iterable[SupportsIndex]],
    pad_value: Operand = 0,
    pad_mode: str = "constant",
) -> Call:
    """Add elements before and after those of each axis.

    Raises:
        IRTypeError: `pad_width` is not a pair of ints from 0 on for each axis, or
            `pad_mode` is none of TVM's.
    """
    mode = require_choice(pad_mode, ("constant", "edge", "reflect"), "pad_mode")
    attrs = PadAttrs(pad_width=width_pairs(pad_width, "pad_width"), pad_mode=mode)
    return call_op(_PAD, (data, pad_value), attrs)


def width_pairs(
    value: Iterable[Iterable[SupportsIndex]], what: str
) -> tuple[tuple[int, int], ...]:
    """Return a pair of ints from 0 on for each axis, those before and behind.

    Raises:
        IRTypeError: The value is none; `what` names the attribute.
    """
    pairs: list[tuple[int, int]] = []
    for pair in value:
        ints = int_tuple(pair, what)
        if len(ints) != 2 or min(ints) < 0:
            raise IRTypeError(f"expected pairs of ints from 0 on, got {pair!r}")
        pairs.append((ints[0], ints[1]))
    return tuple(pairs)


class MirrorPadAttrs(Attrs, frozen=True):
    """Attributes of `nn.mirror_pad`.

    Attributes:
        mode: `SYMMETRIC` repeats the element at the edge, `REFLECT` does not.
    """

    pad_width: tuple[tuple[int, int], ...]
    mode: str = "SYMMETRIC"


def _mirror_pad_relation(types: Sequence[Type], attrs: MirrorPadAttrs) -> TensorType:
    (data,) = tensors(types)
    return _padded(data, attrs.pad_width)


def _mirror_pad(attrs: MirrorPadAttrs, data: Array) -> Array:
    if not data.ndim:
        return data
    mode = "symmetric" if attrs.mode == "SYMMETRIC" else "reflect"
    return np.pad(data, attrs.pad_width, mode)


_MIRROR_PAD = register_op(
    Op(
        "nn.mirror_pad",
        1,
        _mirror_pad_relation,
        _mirror_pad,
        MirrorPadAttrs,
        pattern=OpPattern.INJECTIVE,
    )
)


def mirror_pad(
    data: Expr, pad_width: Iterable[Iterable[SupportsIndex]], mode: str = "SYMMETRIC"
) -> Call:
    """Add the elements that a mirror at the edge of each axis shows."""
    attrs = MirrorPadAttrs(
        pad_width=width_pairs(pad_width, "pad_width"),
        mode=require_choice(mode, ("SYMMETRIC", "REFLECT"), "mode"),
    )
    return call_op(_MIRROR_PAD, (data,), attrs)
