"""Padding of any axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.attributes import int_tuple, require_choice
from parpass.relay.op.build import call_op
from parpass.relay.op.registry import (
    Attrs,
    Op,
    OpPattern,
    TypeRelationError,
    register_op,
)
from parpass.relay.op.relations import require_rank, tensors
from parpass.relay.ty import Any as UnknownDim
from parpass.relay.ty import TensorType, Type

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
    if len(attrs.pad_width) != len(data.shape):
        raise TypeRelationError(
            f"expected a pad_width for {len(attrs.pad_width)} dimensions, got {data}"
        )
    shape = tuple(
        dim if isinstance(dim, UnknownDim) else before + dim + after
        for dim, (before, after) in zip(data.shape, attrs.pad_width, strict=True)
    )
    return TensorType(shape, data.dtype)


def _pad(attrs: PadAttrs, data: Array, value: Array) -> Array:
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
    widths: list[tuple[int, int]] = []
    for pair in pad_width:
        ints = int_tuple(pair, "pad_width")
        if len(ints) != 2 or min(ints) < 0:
            raise IRTypeError(f"expected pairs of ints from 0 on, got {pair!r}")
        widths.append((ints[0], ints[1]))
    mode = require_choice(pad_mode, ("constant", "edge", "reflect"), "pad_mode")
    attrs = PadAttrs(pad_width=tuple(widths), pad_mode=mode)
    return call_op(_PAD, (data, pad_value), attrs)
