"""Operators that move blocks of pixels to channels or the batch, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import (
    NCHW,
    Count,
    Ints,
    IntTuple,
    OneOf,
    WidthPairs,
    Widths,
)
from parpass.relay.op.declaration.build import INJECTIVE, operator
from parpass.relay.op.declaration.layout import transform_layout, transformed_shape
from parpass.relay.op.declaration.type_relations import product, tensors

__all__ = ["batch_to_space_nd", "depth_to_space", "space_to_batch_nd", "space_to_depth"]

Pairs = tuple[tuple[int, int], ...]


def _divided(dim: Dim, by: int) -> Dim:
    if isinstance(dim, UnknownDim):
        return dim
    if dim % by:
        raise TypeRelationError(f"expected a length that {by} divides, got {dim}")
    return dim // by


class SubPixelAttrs(Attrs, frozen=True):
    """Attributes of `nn.depth_to_space` and `nn.space_to_depth`.

    Attributes:
        mode: Whether channels count blocks first (`DCR`) or channels first (`CRD`).
    """

    block_size: Count
    layout: NCHW = "NCHW"
    mode: Annotated[str, OneOf("DCR", "CRD")] = "DCR"


def _depth_to_space_relation(types: Sequence[Type], attrs: SubPixelAttrs) -> TensorType:
    (data,) = tensors(types)
    n, c, h, w = transformed_shape(data.shape, attrs.layout, "NCHW")
    b = attrs.block_size
    shape = (n, _divided(c, b * b), product((h, b)), product((w, b)))
    return TensorType(transformed_shape(shape, "NCHW", attrs.layout), data.dtype)


def _depth_to_space(attrs: SubPixelAttrs, data: Array) -> Array:
    data = transform_layout(data, attrs.layout, "NCHW")
    (n, c, h, w), b = data.shape, attrs.block_size
    leaving = c // (b * b)
    if attrs.mode == "DCR":
        parts = data.reshape(n, b, b, leaving, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = data.reshape(n, leaving, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return transform_layout(
        parts.reshape(n, leaving, h * b, w * b), "NCHW", attrs.layout
    )


def _space_to_depth_relation(types: Sequence[Type], attrs: SubPixelAttrs) -> TensorType:
    (data,) = tensors(types)
    n, c, h, w = transformed_shape(data.shape, attrs.layout, "NCHW")
    b = attrs.block_size
    shape = (n, product((c, b * b)), _divided(h, b), _divided(w, b))
    return TensorType(transformed_shape(shape, "NCHW", attrs.layout), data.dtype)


def _space_to_depth(attrs: SubPixelAttrs, data: Array) -> Array:
    data = transform_layout(data, attrs.layout, "NCHW")
    (n, c, h, w), b = data.shape, attrs.block_size
    parts = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return transform_layout(
        parts.reshape(n, c * b * b, h // b, w // b), "NCHW", attrs.layout
    )


@operator(
    "nn.depth_to_space",
    _depth_to_space_relation,
    _depth_to_space,
    SubPixelAttrs,
    pattern=INJECTIVE,
)
def depth_to_space(
    data: Expr, block_size: int, layout: str = "NCHW", mode: str = "DCR"
) -> Call:
    """Spread channels over blocks of pixels."""
    ...


@operator(
    "nn.space_to_depth",
    _space_to_depth_relation,
    _space_to_depth,
    SubPixelAttrs,
    pattern=INJECTIVE,
)
def space_to_depth(data: Expr, block_size: int, layout: str = "NCHW") -> Call:
    """Gather blocks of pixels into channels."""
    ...


class SpaceToBatchNDAttrs(Attrs, frozen=True):
    """Attributes of `nn.space_to_batch_nd`."""

    block_shape: IntTuple
    paddings: WidthPairs
    pad_value: float = 0.0

    def check(self) -> None:
        """Reject paddings that do not fit the blocks."""
        _require_pairs(self.block_shape, self.paddings)


class BatchToSpaceNDAttrs(Attrs, frozen=True):
    """Attributes of `nn.batch_to_space_nd`."""

    block_shape: IntTuple
    crops: WidthPairs

    def check(self) -> None:
        """Reject crops that do not fit the blocks."""
        _require_pairs(self.block_shape, self.crops)


def _require_axes(data: TensorType, count: int) -> None:
    if len(data.shape) <= count:
        raise TypeRelationError(
            f"expected a batch and {count} dimensions or more, got {data}"
        )


def _to_batch_relation(types: Sequence[Type], attrs: SpaceToBatchNDAttrs) -> TensorType:
    (data,) = tensors(types)
    count = len(attrs.block_shape)
    _require_axes(data, count)
    shape: list[Dim] = [product((data.shape[0], *attrs.block_shape))]
    for at, block in enumerate(attrs.block_shape):
        dim = data.shape[at + 1]
        known = isinstance(dim, int)
        shape.append(_divided(dim + sum(attrs.paddings[at]), block) if known else dim)
    return TensorType((*shape, *data.shape[count + 1 :]), data.dtype)


def _to_batch(attrs: SpaceToBatchNDAttrs, data: Array) -> Array:
    count = len(attrs.block_shape)
    sides = [(0, 0), *attrs.paddings, *[(0, 0)] * (data.ndim - count - 1)]
    data = np.pad(data, sides, constant_values=attrs.pad_value)
    split = [data.shape[0]]
    for at, block in enumerate(attrs.block_shape):
        split += [data.shape[at + 1] // block, block]
    parts = data.reshape(*split, *data.shape[count + 1 :])
    blocks, places = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    parts = parts.transpose(*blocks, 0, *places, *range(2 * count + 1, parts.ndim))
    batch = math.prod(parts.shape[: count + 1])
    return parts.reshape(batch, *parts.shape[count + 1 :])


def _from_batch_relation(
    types: Sequence[Type], attrs: BatchToSpaceNDAttrs
) -> TensorType:
    (data,) = tensors(types)
    count = len(attrs.block_shape)
    _require_axes(data, count)
    blocks = int(np.prod(attrs.block_shape))
    shape: list[Dim] = [_divided(data.shape[0], blocks)]
    for at, block in enumerate(attrs.block_shape):
        dim, crop = data.shape[at + 1], sum(attrs.crops[at])
        if isinstance(dim, int) and dim * block < crop:
            raise TypeRelationError(f"expected crops up to {dim * block}, got {crop}")
        shape.append(dim * block - crop if isinstance(dim, int) else dim)
    return TensorType((*shape, *data.shape[count + 1 :]), data.dtype)


def _from_batch(attrs: BatchToSpaceNDAttrs, data: Array) -> Array:
    count = len(attrs.block_shape)
    batch = data.shape[0] // math.prod(attrs.block_shape)
    parts = data.reshape(*attrs.block_shape, batch, *data.shape[1:])
    order = [count]
    for at in range(count):
        order += [count + 1 + at, at]
    parts = parts.transpose(*order, *range(2 * count + 1, parts.ndim))
    pairs = zip(data.shape[1:], attrs.block_shape, strict=False)
    lengths = [dim * block for dim, block in pairs]
    whole = parts.reshape(batch, *lengths, *data.shape[count + 1 :])
    crops = zip(lengths, attrs.crops, strict=True)
    kept = [slice(before, length - after) for length, (before, after) in crops]
    return whole[(slice(None), *kept)]


@operator(
    "nn.space_to_batch_nd",
    _to_batch_relation,
    _to_batch,
    SpaceToBatchNDAttrs,
    pattern=INJECTIVE,
)
def space_to_batch_nd(
    data: Expr,
    block_shape: Ints,
    paddings: Widths,
    pad_value: float = 0,
) -> Call:
    """Gather blocks of the axes after the first into the batch."""
    ...


@operator(
    "nn.batch_to_space_nd",
    _from_batch_relation,
    _from_batch,
    BatchToSpaceNDAttrs,
    pattern=INJECTIVE,
)
def batch_to_space_nd(data: Expr, block_shape: Ints, crops: Widths) -> Call:
    """Spread the batch over blocks of the axes after it, and crop these."""
    ...


def _require_pairs(block_shape: tuple[int, ...], pairs: Pairs) -> None:
    if len(block_shape) != len(pairs) or any(block < 1 for block in block_shape):
        raise IRTypeError(
            f"expected blocks from 1 on and a pair for each, got {block_shape} and "
            f"{pairs}"
        )
