"""Poolings of images: a vector is the channels of a block, or neighbours in a row.

What a window sees of an image is known where the window is, so padding is neither
copied nor read.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from parpass.relay.backend.lowering.elementwise_loops import elementwise_nest
from parpass.relay.backend.lowering.extremes import lowest
from parpass.relay.backend.lowering.loops import allocated, scratch
from parpass.relay.backend.lowering.reduction_loops import reductions
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
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
from parpass.relay.backend.lowering.templates.conv_operands import channel_block
from parpass.relay.backend.lowering.templates.flat_loops import (
    INDEX,
    bound_all,
    flat,
    index,
    is_flat,
    looped,
    nested,
    suits_vectors,
)
from parpass.tir.expr import BufferLoad, Cast, PrimExpr, Var
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
from parpass.tir.stmt import BufferStore, For, ForKind, LetStmt, Stmt, stmt_seq

Pair = tuple[int, int]

_ROWS = 16  # of results that are computed at once, at most
_WIDEST = 16  # columns of a window whose elements are joined one by one


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
    attrs, (data,) = call.attrs, call.sources
    lanes = channel_block(attrs.layout)
    if lanes is None or (attrs.out_layout or attrs.layout) != attrs.layout:
        return None
    if not is_flat(data) or not suits_vectors(call) or 0 in data.shape:
        return None
    windows = _windows(attrs, data)
    if lanes > 1:
        return _BlockPooling(windows, call, store, is_max=is_max).stmt()
    if attrs.get("pool_size", None) is None or windows.size[1] > _WIDEST:
        return None  # the plain loops take as much of a row as a vector has
    return _RowPooling(windows, call, store, is_max=is_max).stmt()


class _Pooling:
    """The loops of a pooling.

    Args:
        windows: The windows.
        call: The call; its operand is the images.
        store: Takes the results.
        is_max: Whether the largest element is wanted, or the mean.
    """

    def __init__(
        self, windows: _Windows, call: OpCall[Any], store: Store, *, is_max: bool
    ) -> None:
        (self._data,), self._out, self._target = call.sources, call.out, call.target
        self._windows, self._store, self._is_max = windows, store, is_max
        dtype = self._out.dtype
        self._start = lowest(dtype) if is_max else const(0, dtype)
        self._join = maximum if is_max else add

    def _seen(self, at: PrimExpr, axis: int) -> tuple[PrimExpr, PrimExpr]:
        """Return the first element of a window in the image, and their number."""
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

    def _place(self, at: PrimExpr, inside: PrimExpr, axis: int) -> PrimExpr:
        """Return the index in the image of an element of a window."""
        how = self._windows
        begin = multiply(at, index(how.strides[axis]))
        place = add(begin, multiply(inside, index(how.dilation[axis])))
        return subtract(place, index(how.before[axis]))

    def _divisor(self, height: PrimExpr, width: PrimExpr) -> PrimExpr:
        """Return the divisor of a sum of a window, of which so much is seen."""
        divisor: PrimExpr = index(self._windows.divisor or 1)
        if self._windows.divisor is None:
            divisor = maximum(multiply(height, width), divisor)
        return Cast(self._out.dtype, divisor)


class _BlockPooling(_Pooling):
    """Pooling in blocks: a vector is the channels of a block."""

    def __init__(
        self, windows: _Windows, call: OpCall[Any], store: Store, *, is_max: bool
    ) -> None:
        super().__init__(windows, call, store, is_max=is_max)
        self._lanes = self._data.shape[-1]
        self._sums = Accumulators(1, self._lanes, self._out.dtype)

    def stmt(self) -> Stmt:
        """Return the loops."""
        names = ("image", "channels", "row", "column")
        return self._sums.within(nested(names, self._out.shape[:-1], self._result))

    def _result(self, place: tuple[PrimExpr, ...]) -> Stmt:
        """Return what computes the results of one window and stores them."""
        height, width = self._seen(place[2], 0), self._seen(place[3], 1)

        def whole(ends: list[PrimExpr]) -> Stmt:
            first_y, count_y, first_x, count_x = ends
            y, x = Var("y", INDEX), Var("x", INDEX)
            joined = self._joined(place, y, x)
            inside = For(x, first_x, count_x, ForKind.SERIAL, joined)
            return stmt_seq(
                self._sums.set(0, repeated(self._start, self._lanes)),
                For(y, first_y, count_y, ForKind.SERIAL, inside),
                *self._divided(count_y, count_x),
                self._sums.each(
                    0, lambda lane, value: self._store((*place, lane), value)
                ),
            )

        return bound_all("end", (*height, *width), whole)

    def _joined(self, place: tuple[PrimExpr, ...], y: PrimExpr, x: PrimExpr) -> Stmt:
        """Return what joins an element to those before it."""
        seen = [self._place(place[2], y, 0), self._place(place[3], x, 1)]
        begin = flat((*place[:2], *seen, index(0)), self._data.shape)
        buffer = self._data.buffer
        assert buffer is not None
        value = loaded(self._data.dtype, buffer.data, begin, self._lanes)
        return self._sums.set(0, self._join(self._sums[0], value))

    def _divided(self, height: PrimExpr, width: PrimExpr) -> list[Stmt]:
        """Return what makes a mean of a sum."""
        if self._is_max:
            return []
        by = repeated(self._divisor(height, width), self._lanes)
        return [self._sums.set(0, div(self._sums[0], by))]


class _RowPooling(_Pooling):
    """Pooling in NCHW: a vector is neighbours in a row.

    The rows that windows see are joined to one, whose ends are padding, and then the
    elements of each window in it. It is done for some rows at once, as what was stored
    just before is read late where it was stored by other vectors.
    """

    def __init__(
        self, windows: _Windows, call: OpCall[Any], store: Store, *, is_max: bool
    ) -> None:
        super().__init__(windows, call, store, is_max=is_max)
        height, width = self._out.shape[2:]
        within = (windows.size[1] - 1) * windows.dilation[1]
        length = (width - 1) * windows.strides[1] + within + 1
        behind = length - windows.before[1]
        self._seen_columns = max(min(self._data.shape[3], behind), 0)
        at_once = max(n for n in range(1, _ROWS + 1) if height % n == 0)
        self._rows = scratch((at_once, length), self._out.dtype, "rows")
        self._widths = scratch((width,), self._out.dtype, "widths")

    def stmt(self) -> Stmt:
        """Return the loops."""
        images, channels, height, width = self._out.shape
        at_once, length = (int(dim) for dim in self._rows.shape)
        filled = elementwise_nest(
            (at_once, length),
            lambda at: BufferStore(self._rows, self._start, at),
            self._target,
        )

        def some(place: tuple[PrimExpr, ...]) -> Stmt:
            *image, chunk = place
            first = multiply(chunk, index(at_once))

            def each(body: Callable[..., Stmt]) -> Stmt:
                return looped(
                    "row", at_once, lambda row: body(image, add(first, row), row)
                )

            return stmt_seq(each(self._joined), each(self._windowed))

        extents = images, channels, height // at_once
        loops = nested(("image", "channel", "rows"), extents, some)
        if not self._divides_by_number:
            return allocated(self._rows, stmt_seq(filled, loops))
        counted = elementwise_nest(
            (width,),
            lambda at: BufferStore(
                self._widths, self._factor(self._seen(at[0], 1)[1]), at
            ),
            self._target,
        )
        body = allocated(self._widths, stmt_seq(filled, counted, loops))
        return allocated(self._rows, body)

    @property
    def _divides_by_number(self) -> bool:
        """Whether sums are divided by the number of elements that their windows see."""
        return not self._is_max and self._windows.divisor is None

    def _joined(self, image: list[PrimExpr], y: PrimExpr, row: PrimExpr) -> Stmt:
        """Return what joins the rows that windows of a row see."""
        before = index(self._windows.before[1])

        def whole(ends: list[PrimExpr]) -> Stmt:
            first, count = ends

            def element(at: Indices, k: Indices) -> PrimExpr:
                seen = self._place(y, add(first, k[0]), 0)
                return self._data.at([*image, seen, at[0]])

            def stored(at: Indices, value: PrimExpr) -> Stmt:
                return BufferStore(self._rows, value, [row, add(at[0], before)])

            columns = Result((self._seen_columns,), self._out.dtype)
            how = self._target, self._start, self._join
            return reductions(columns, [count], element, stored, *how)

        return bound_all("end", self._seen(y, 0), whole)

    def _windowed(self, image: list[PrimExpr], y: PrimExpr, row: PrimExpr) -> Stmt:
        """Return what computes a row of results, and stores them."""
        how = self._windows

        def result(at: list[PrimExpr]) -> Stmt:
            begin = multiply(at[0], index(how.strides[1]))
            places = (
                add(begin, index(inside * how.dilation[1]))
                for inside in range(how.size[1])
            )
            elements = (BufferLoad(self._rows, [row, place]) for place in places)
            found = functools.reduce(self._join, elements)
            if not self._is_max:
                found = div(found, self._divisor_at(height, at[0]))
            return self._store((*image, y, *at), found)

        height = Var("height", INDEX)
        loops = elementwise_nest(self._out.shape[3:], result, self._target)
        return LetStmt(height, self._seen(y, 0)[1], loops)

    def _divisor_at(self, height: PrimExpr, x: PrimExpr) -> PrimExpr:
        """Return the divisor of a sum, of a window that sees so many rows."""
        if self._divides_by_number:
            return multiply(self._factor(height), BufferLoad(self._widths, [x]))
        return const(self._windows.divisor, self._out.dtype)

    def _factor(self, seen: PrimExpr) -> PrimExpr:
        """Return a factor of a divisor; where nothing is seen the sum is 0."""
        return Cast(self._out.dtype, maximum(seen, index(1)))


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
