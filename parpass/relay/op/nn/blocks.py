"""Operators that move blocks of places into channels or the batch, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, TypeRelationError, register_op
from parpass.ir.ty import Any as UnknownDim
from parpass.ir.ty import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.attributes import Ints, int_tuple, one_int, require_choice
from parpass.relay.op.build import call_op
from parpass.relay.op.layout import layout_of, relaid, relaid_shape
from parpass.relay.op.nn.pad import width_pairs
from parpass.relay.op.relations import product, tensors

Array = npt.NDArray[Any]
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

    block_size: int
    layout: str = "NCHW"
    mode: str = "DCR"


def _depth_to_space_relation(types: Sequence[Type], attrs: SubPixelAttrs) -> TensorType:
    (data,) = tensors(types)
    n, c, h, w = relaid_shape(data.shape, attrs.layout, "NCHW")
    b = attrs.block_size
    shape = (n, _divided(c, b * b), product((h, b)), product((w, b)))
    return TensorType(relaid_shape(shape, "NCHW", attrs.layout), data.dtype)


def _depth_to_space(attrs: SubPixelAttrs, data: Array) -> Array:
    data = relaid(data, attrs.layout, "NCHW")
    (n, c, h, w), b = data.shape, attrs.block_size
    if attrs.mode == "DCR":
        parts = data.reshape(n, b, b, -1, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = data.reshape(n, -1, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return relaid(parts.reshape(n, c // (b * b), h * b, w * b), "NCHW", attrs.layout)


def _space_to_depth_relation(types: Sequence[Type], attrs: SubPixelAttrs) -> TensorType:
    (data,) = tensors(types)
    n, c, h, w = relaid_shape(data.shape, attrs.layout, "NCHW")
    b = attrs.block_size
    shape = (n, product((c, b * b)), _divided(h, b), _divided(w, b))
    return TensorType(relaid_shape(shape, "NCHW", attrs.layout), data.dtype)


def _space_to_depth(attrs: SubPixelAttrs, data: Array) -> Array:
    data = relaid(data, attrs.layout, "NCHW")
    (n, c, h, w), b = data.shape, attrs.block_size
    parts = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return relaid(parts.reshape(n, c * b * b, h // b, w // b), "NCHW", attrs.layout)


_DEPTH_TO_SPACE = register_op(
    Op(
        "nn.depth_to_space",
        1,
        _depth_to_space_relation,
        _depth_to_space,
        SubPixelAttrs,
        pattern=OpPattern.INJECTIVE,
    )
)
_SPACE_TO_DEPTH = register_op(
    Op(
        "nn.space_to_depth",
        1,
        _space_to_depth_relation,
        _space_to_depth,
        SubPixelAttrs,
        pattern=OpPattern.INJECTIVE,
    )
)


def depth_to_space(
    data: Expr, block_size: int, layout: str = "NCHW", mode: str = "DCR"
) -> Call:
    """Spread channels over blocks of places."""
    attrs = SubPixelAttrs(
        block_size=one_int(block_size, "block_size"),
        layout=layout_of(layout, "NCHW", "layout"),
        mode=require_choice(mode, ("DCR", "CRD"), "mode"),
    )
    return call_op(_DEPTH_TO_SPACE, (data,), attrs)


def space_to_depth(data: Expr, block_size: int, layout: str = "NCHW") -> Call:
    """Gather blocks of places into channels."""
    attrs = SubPixelAttrs(
        block_size=one_int(block_size, "block_size"),
        layout=layout_of(layout, "NCHW", "layout"),
    )
    return call_op(_SPACE_TO_DEPTH, (data,), attrs)


class SpaceToBatchNDAttrs(Attrs, frozen=True):
    """Attributes of `nn.space_to_batch_nd`."""

    block_shape: tuple[int, ...]
    paddings: Pairs
    pad_value: float = 0.0


class BatchToSpaceNDAttrs(Attrs, frozen=True):
    """Attributes of `nn.batch_to_space_nd`."""

    block_shape: tuple[int, ...]
    crops: Pairs


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
    return parts.reshape(-1, *parts.shape[count + 1 :])


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
    parts = data.reshape(*attrs.block_shape, -1, *data.shape[1:])
    order = [count]
    for at in range(count):
        order += [count + 1 + at, at]
    parts = parts.transpose(*order, *range(2 * count + 1, parts.ndim))
    pairs = zip(data.shape[1:], attrs.block_shape, strict=False)
    lengths = [dim * block for dim, block in pairs]
    whole = parts.reshape(-1, *lengths, *data.shape[count + 1 :])
    crops = zip(lengths, attrs.crops, strict=True)
    kept = [slice(before, length - after) for length, (before, after) in crops]
    return whole[(slice(None), *kept)]


_TO_BATCH = register_op(
    Op(
        "nn.space_to_batch_nd",
        1,
        _to_batch_relation,
        _to_batch,
        SpaceToBatchNDAttrs,
        pattern=OpPattern.INJECTIVE,
    )
)
_FROM_BATCH = register_op(
    Op(
        "nn.batch_to_space_nd",
        1,
        _from_batch_relation,
        _from_batch,
        BatchToSpaceNDAttrs,
        pattern=OpPattern.INJECTIVE,
    )
)


def space_to_batch_nd(
    data: Expr,
    block_shape: Ints,
    paddings: Iterable[Iterable[SupportsIndex]],
    pad_value: float = 0,
) -> Call:
    """Gather blocks of the axes behind the first into the batch."""
    attrs = SpaceToBatchNDAttrs(
        block_shape=int_tuple(block_shape, "block_shape"),
        paddings=width_pairs(paddings, "paddings"),
        pad_value=pad_value,
    )
    _require_pairs(attrs.block_shape, attrs.paddings)
    return call_op(_TO_BATCH, (data,), attrs)


def batch_to_space_nd(
    data: Expr, block_shape: Ints, crops: Iterable[Iterable[SupportsIndex]]
) -> Call:
    """Spread the batch over blocks of the axes behind it, and cut off their ends."""
    attrs = BatchToSpaceNDAttrs(
        block_shape=int_tuple(block_shape, "block_shape"),
        crops=width_pairs(crops, "crops"),
    )
    _require_pairs(attrs.block_shape, attrs.crops)
    return call_op(_FROM_BATCH, (data,), attrs)


def _require_pairs(block_shape: tuple[int, ...], pairs: Pairs) -> None:
    if len(block_shape) != len(pairs) or any(block < 1 for block in block_shape):
        raise IRTypeError(
            f"expected blocks from 1 on and a pair for each, got {block_shape} and "
            f"{pairs}"
        )
