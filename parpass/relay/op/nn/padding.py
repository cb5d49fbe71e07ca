"""Padding of any axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import Array, TypeRelationError
from parpass.ir.types.ty import Any as UnknownDim
from parpass.ir.types.ty import TensorType, Type
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.attributes import WidthPairs, Widths, one_of
from parpass.relay.op.build import INJECTIVE, operator
from parpass.relay.op.relations import require_rank, tensors

__all__ = ["mirror_pad", "pad"]


PadMode = Annotated[str, one_of("constant", "edge", "reflect")]


class PadAttrs(Attrs, frozen=True):
    """Attributes of `nn.pad`.

    Attributes:
        pad_width: How many elements to add before and after, for each axis.
        pad_mode: `constant` adds the pad value, `edge` the nearest element, `reflect`
            mirrors at the edge.
    """

    pad_width: WidthPairs
    pad_mode: PadMode = "constant"


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


@operator("nn.pad", _pad_relation, _pad, PadAttrs, pattern=INJECTIVE)
def pad(
    data: Expr,
    pad_width: Widths | Expr,
    pad_value: Operand = 0,
    pad_mode: str = "constant",
) -> Call:
    """Add elements before and after those of each axis.

    Raises:
        IRTypeError: `pad_width` is not a pair of ints from 0 on for each axis, or
            `pad_mode` is none of TVM's.
    """
    ...


class MirrorPadAttrs(Attrs, frozen=True):
    """Attributes of `nn.mirror_pad`.

    Attributes:
        mode: `SYMMETRIC` repeats the element at the edge, `REFLECT` does not.
    """

    pad_width: WidthPairs
    mode: Annotated[str, one_of("SYMMETRIC", "REFLECT")] = "SYMMETRIC"


def _mirror_pad_relation(types: Sequence[Type], attrs: MirrorPadAttrs) -> TensorType:
    (data,) = tensors(types)
    return _padded(data, attrs.pad_width)


def _mirror_pad(attrs: MirrorPadAttrs, data: Array) -> Array:
    if not data.ndim:
        return data
    mode = "symmetric" if attrs.mode == "SYMMETRIC" else "reflect"
    return np.pad(data, attrs.pad_width, mode)


@operator(
    "nn.mirror_pad",
    _mirror_pad_relation,
    _mirror_pad,
    MirrorPadAttrs,
    pattern=INJECTIVE,
)
def mirror_pad(data: Expr, pad_width: Widths, mode: str = "SYMMETRIC") -> Call:
    """Add the elements that a mirror at the edge of each axis shows."""
    ...
