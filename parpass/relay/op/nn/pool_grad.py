"""Gradients of max and average pooling of images, as operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import Ints
from parpass.relay.op.declaration.build import OUT_ELEMWISE_FUSABLE, BuilderT, operator
from parpass.relay.op.declaration.layout import SPATIAL, transform_layout
from parpass.relay.op.declaration.type_relations import (
    require_float,
    require_shape,
    tensors,
)
from parpass.relay.op.nn.pool import AvgPool2DAttrs, MaxPool2DAttrs, PoolAttrs
from parpass.relay.op.nn.windows import pooled_type, window_counts, window_dims, windows

__all__ = ["avg_pool2d_grad", "max_pool2d_grad"]


class MaxPool2DGradAttrs(MaxPool2DAttrs, frozen=True):
    """Attributes of `nn.max_pool2d_grad`, those of the pooling."""


class AvgPool2DGradAttrs(AvgPool2DAttrs, frozen=True):
    """Attributes of `nn.avg_pool2d_grad`, those of the pooling."""


def _relation(types: Sequence[Type], attrs: PoolAttrs) -> TensorType:
    grad, data = tensors(types)
    require_float(data)
    size, ceil_mode = attrs.pool_size, attrs.ceil_mode
    counts = partial(window_dims, kernel=size, how=attrs, ceil_mode=ceil_mode)
    pooled = pooled_type(attrs, data, len(attrs.strides), counts)
    require_shape(grad, pooled.shape, "the gradient")
    if grad.dtype != data.dtype:
        raise TypeRelationError(f"expected a gradient of {data.dtype}, got {grad}")
    return data


Shares = Callable[[Any, Array, Array, tuple[int, ...]], Iterable[Array]]
"""Gives what each place in the window gets, for the places in order.

Its arguments are the attributes, the gradient, the data, and the window counts.
"""


def _to_largest(
    attrs: PoolAttrs, grad: Array, data: Array, counts: tuple[int, ...]
) -> Iterable[Array]:
    """Assign the whole gradient to the first of the largest elements."""
    places = [*np.ndindex(*attrs.pool_size)]
    elements = windows(data, attrs.pool_size, attrs, counts, fill=-np.inf)
    flat: Array = elements.reshape(len(places), *elements.shape[len(attrs.pool_size) :])
    largest: Array = flat.argmax(0)
    return (np.where(largest == at, grad, 0) for at in range(len(places)))


def _to_all(
    attrs: Any, grad: Array, data: Array, counts: tuple[int, ...]
) -> Iterable[Array]:
    """Spread the gradient evenly, as the mean counts the elements."""
    size = math.prod(attrs.pool_size)
    share = grad / grad.dtype.type(size)
    if not attrs.count_include_pad:
        inside = np.ones((1, 1, *data.shape[2:]), data.dtype)
        elements = windows(inside, attrs.pool_size, attrs, counts, fill=0)
        total = elements.sum(axis=tuple(range(len(attrs.pool_size))))
        share = grad / np.maximum(total, 1)
    return (share for _ in range(size))


def _propagated(shares: Shares, attrs: PoolAttrs, grad: Array, data: Array) -> Array:
    canonical = f"NC{SPATIAL[len(attrs.strides)]}"
    grad = transform_layout(grad, attrs.out_layout or attrs.layout, canonical)
    data = transform_layout(data, attrs.layout, canonical)
    image, size = data.shape[2:], attrs.pool_size
    counts = window_counts(image, size, attrs, ceil_mode=attrs.ceil_mode)
    ends = [
        max(
            before + length,
            (n - 1) * stride + (inside - 1) * step + 1,
        )
        for before, length, n, stride, inside, step in zip(
            attrs.padding, image, counts, attrs.strides, size, attrs.dilation,
            strict=False,
        )
    ]  # fmt: skip
    padded = np.zeros((*data.shape[:2], *ends), data.dtype)
    for at, share in zip(
        np.ndindex(*size), shares(attrs, grad, data, counts), strict=True
    ):
        places = tuple(
            slice(k * step, k * step + (n - 1) * stride + 1, stride)
            for k, step, n, stride in zip(
                at, attrs.dilation, counts, attrs.strides, strict=True
            )
        )
        padded[(..., *places)] += share
    cut = tuple(
        slice(before, before + length)
        for before, length in zip(attrs.padding, image, strict=False)
    )
    return transform_layout(padded[(..., *cut)], canonical, attrs.layout)


def _registered(
    name: str, shares: Shares, kind: type[PoolAttrs]
) -> Callable[[BuilderT], BuilderT]:
    return operator(
        f"nn.{name}",
        _relation,
        partial(_propagated, shares),
        kind,
        pattern=OUT_ELEMWISE_FUSABLE,
    )


@_registered("max_pool2d_grad", _to_largest, MaxPool2DGradAttrs)
def max_pool2d_grad(
    out_grad: Expr,
    data: Expr,
    pool_size: Ints = 1,
    strides: Ints = 1,
    padding: Ints = 0,
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    dilation: Ints = 1,
) -> Call:
    """Assign each window's gradient to its largest element, the first of equal ones."""
    ...


@_registered("avg_pool2d_grad", _to_all, AvgPool2DGradAttrs)
def avg_pool2d_grad(
    out_grad: Expr,
    data: Expr,
    pool_size: Ints = 1,
    strides: Ints = 1,
    padding: Ints = 0,
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    dilation: Ints = 1,
) -> Call:
    """Spread each window's gradient over its elements."""
    ...
