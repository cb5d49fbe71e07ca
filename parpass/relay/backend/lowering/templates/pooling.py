"""Poolings of images: a vector is the channels of a block, where they are in blocks.

What a window sees of an image is known where the window is, so padding is neither
copied nor read.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from parpass.relay.backend.lowering.extremes import lowest
from parpass.relay.backend.lowering.rule_registry import (
    OpCall,
    Result,
    Source,
    Store,
    register_template,
)
from parpass.relay.backend.lowering.templates.accumulators import (
    Accumulators,
    loaded,
    repeated,
)
from parpass.relay.backend.lowering.templates.conv_operands import (
    channel_block,
    in_blocks,
)
from parpass.relay.backend.lowering.templates.flat_loops import (
    INDEX,
    bound_all,
    flat,
    index,
    is_flat,
    nested,
    suits_vectors,
)
from parpass.tir.expr import Cast, PrimExpr, Var
from parpass.tir.op import (
    add,
    const,
    div,
    floordiv,
    maximum,
    minimum,
    multiply,
    subtract,
)
from parpass.tir.stmt import For, ForKind, Stmt, stmt_seq

Pair = tuple[int, int]


class _Windows(NamedTuple):
    """The windows that slide over images; pairs are of height and width.

    Attributes:
        size: The lengths of a window.
        strides: The distance between windows.
        dilation: The distance between elements of a window.
        before: The padding before the image.
        divisor: The divisor of a sum; None for the number of elements in the window.
    """

    size: Pair
    strides: Pair = (1, 1)
    dilation: Pair = (1, 1)
    before: Pair = (0, 0)
    divisor: int | None = None


@register_template("nn.max_pool2d", "nn.global_max_pool2d", level=20)
def max_pool2d(call: OpCall[Any], store: Store) -> Stmt | None:
    """Return the largest elements of windows of images in NCHW, or such as NCHW16c."""
    return _pooled(call, store, is_max=True)


@register_template("nn.avg_pool2d", "nn.global_avg_pool2d", level=20)
def avg_pool2d(call: OpCall[Any], store: Store) -> Stmt | None:
    """Return the means of windows of images in NCHW, or such as NCHW16c."""
    return _pooled(call, store, is_max=False)


def _pooled(call: OpCall[Any], store: Store, *, is_max: bool) -> Stmt | None:
    attrs, out = call.attrs, call.out
    (data,) = call.sources
    lanes = channel_block(attrs.layout)
    if lanes is None or (attrs.out_layout or attrs.layout) != attrs.layout:
        return None
    if not is_flat(data) or not suits_vectors(call) or 0 in data.shape:
        return None
    if lanes == 1 and attrs.get("pool_size", None) is None:
        return None  # a window is the neighbours that an image is
    if lanes == 1:  # a block of one channel
        blocked = out._replace(shape=(*out.shape, 1))
        return _Pooling(
            *(attrs, in_blocks(data, 2), blocked),
            lambda at, value: store(at[:-1], value),
            is_max=is_max,
        ).stmt()
    return _Pooling(attrs, data, out, store, is_max=is_max).stmt()


class _Pooling:
    """The loops of a pooling.

    Args:
        attrs: How it is done; a global one says nothing.
        data: The images.
        out: The result.
        store: What is done with results.
        is_max: Whether the largest element is wanted, or the mean.
    """

    def __init__(
        self, attrs: Any, data: Source, out: Result, store: Store, *, is_max: bool
    ) -> None:
        self._data, self._out, self._store = data, out, store
        self._is_max = is_max
        self._lanes = data.shape[-1]
        self._windows = _windows(attrs, data)
        self._sums = Accumulators(1, self._lanes, out.dtype)

    def stmt(self) -> Stmt:
        """Return the loops."""
        names = ("image", "channels", "row", "column")
        return self._sums.within(nested(names, self._out.shape[:-1], self._result))

    def _result(self, place: tuple[PrimExpr, ...]) -> Stmt:
        """Return what computes the results of one window and stores them."""
        height, width = self._seen(place[2], 0), self._seen(place[3], 1)
        start = lowest(self._out.dtype) if self._is_max else const(0, self._out.dtype)

        def whole(ends: list[PrimExpr]) -> Stmt:
            first_y, count_y, first_x, count_x = ends
            y, x = Var("y", INDEX), Var("x", INDEX)
            joined = self._joined(place, y, x)
            inside = For(x, first_x, count_x, ForKind.SERIAL, joined)
            return stmt_seq(
                self._sums.set(0, repeated(start, self._lanes)),
                For(y, first_y, count_y, ForKind.SERIAL, inside),
                *self._divided(count_y, count_x),
                self._sums.each(
                    0, lambda lane, value: self._store((*place, lane), value)
                ),
            )

        return bound_all("end", (*height, *width), whole)

    def _seen(self, at: PrimExpr, axis: int) -> tuple[PrimExpr, PrimExpr]:
        """Return which element of a window is the first in an image; how many are."""
        how, length = self._windows, self._data.shape[2 + axis]
        step = how.dilation[axis]
        begin = subtract(
            multiply(at, index(how.strides[axis])), index(how.before[axis])
        )
        none = index(0)
        first = maximum(_rounded_up(subtract(none, begin), step), none)
        behind = _rounded_up(subtract(index(length), begin), step)
        behind = minimum(behind, index(how.size[axis]))
        return first, maximum(subtract(behind, first), none)

    def _joined(self, place: tuple[PrimExpr, ...], y: PrimExpr, x: PrimExpr) -> Stmt:
        """Return what joins an element to those before it."""
        how = self._windows
        seen = [
            subtract(
                add(
                    multiply(at, index(how.strides[axis])),
                    multiply(inside, index(how.dilation[axis])),
                ),
                index(how.before[axis]),
            )
            for axis, (at, inside) in enumerate(zip(place[2:], (y, x), strict=True))
        ]
        begin = flat((*place[:2], *seen, index(0)), self._data.shape)
        buffer = self._data.buffer
        assert buffer is not None
        value = loaded(self._data.dtype, buffer.data, begin, self._lanes)
        known = self._sums[0]
        if not self._is_max:
            return self._sums.set(0, add(known, value))
        return self._sums.set(0, maximum(known, value))

    def _divided(self, height: PrimExpr, width: PrimExpr) -> list[Stmt]:
        """Return what makes a mean of a sum."""
        if self._is_max:
            return []
        divisor: PrimExpr = index(self._windows.divisor or 1)
        if self._windows.divisor is None:
            divisor = maximum(multiply(height, width), divisor)
        by = repeated(Cast(self._out.dtype, divisor), self._lanes)
        return [self._sums.set(0, div(self._sums[0], by))]


def _windows(attrs: Any, data: Source) -> _Windows:
    size = attrs.get("pool_size", None)
    if size is None:
        return _Windows((data.shape[2], data.shape[3]))
    counts_all = attrs.get("count_include_pad", False)
    divisor = math.prod(size) if counts_all else None
    before = attrs.padding[:2]
    return _Windows(size, attrs.strides, attrs.dilation, before, divisor)


def _rounded_up(value: PrimExpr, step: int) -> PrimExpr:
    """Return how many steps it takes to a value."""
    return value if step == 1 else floordiv(add(value, index(step - 1)), index(step))
