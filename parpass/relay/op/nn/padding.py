"""Padding of any axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.declaration.attributes import (
    IntPairs,
    OneOf,
    WidthPairs,
    Widths,
    width_pairs,
)
from parpass.relay.op.declaration.build import INJECTIVE, operator
from parpass.relay.op.declaration.type_relations import require_rank, tensors

__all__ = ["mirror_pad", "pad"]


PadMode = Annotated[str, OneOf("constant", "edge", "reflect")]


class PadAttrs(Attrs, frozen=True):
    """Attributes of `nn.pad`.

    Attributes:
        pad_width: The number of elements to add before and after, for each axis; with
            mode `constant` it may be negative, to remove elements.
        pad_mode: `constant` adds the pad value, `edge` the nearest element, `reflect`
            mirrors at the edge.
    """

    pad_width: IntPairs
    pad_mode: PadMode = "constant"

    def check(self) -> None:
        """Reject negative widths in modes that need edges."""
        if self.pad_mode != "constant":
            width_pairs(self.pad_width, "pad_width")


def _pad_relation(types: Sequence[Type], attrs: PadAttrs) -> TensorType:
    data, value = tensors(types)
    require_rank(value, 0, "the pad value")
    return _padded(data, attrs.pad_width)


def _padded(data: TensorType, pad_width: tuple[tuple[int, int], ...]) -> TensorType:
    if len(pad_width) != len(data.shape):
        raise TypeRelationError(
            f"expected a pad_width for {len(pad_width)} dimensions, got {data}"
        )
    shape: list[Dim] = []
    for dim, (before, after) in zip(data.shape, pad_width, strict=True):
        if not isinstance(dim, UnknownDim):
            if dim < max(-before, 0) + max(-after, 0):
                raise TypeRelationError(
                    f"expected as many elements as are left out by {(before, after)}, "
                    f"got {data}"
                )
            dim = before + dim + after
        shape.append(dim)
    return TensorType(tuple(shape), data.dtype)


def _pad(attrs: PadAttrs, data: Array, value: Array) -> Array:
    if not data.ndim:
        return data  # numpy does not accept a tensor without axes
    if attrs.pad_mode == "constant":
        inside = tuple(
            slice(max(-before, 0), dim - max(-after, 0))
            for dim, (before, after) in zip(data.shape, attrs.pad_width, strict=True)
        )
        added = [(max(before, 0), max(after, 0)) for before, after in attrs.pad_width]
        return np.pad(data[inside], added, constant_values=value.astype(data.dtype))
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
        IRTypeError: `pad_width` is not a pair of ints for each axis, from 0 on where
            edges are added, or `pad_mode` is no mode of TVM.
    """
    ...


class MirrorPadAttrs(Attrs, frozen=True):
    """Attributes of `nn.mirror_pad`.

    Attributes:
        mode: `SYMMETRIC` repeats the element at the edge, `REFLECT` does not.
    """

    pad_width: WidthPairs
    mode: Annotated[str, OneOf("SYMMETRIC", "REFLECT")] = "SYMMETRIC"


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
    """Pad each axis with its mirror image."""
    ...
