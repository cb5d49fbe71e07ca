"""Operands of 2-d convolution templates: padded flat input, layouts, lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from parpass.relay.backend.lowering.rule_registry import Indices, OpCall, Source
from parpass.relay.backend.lowering.templates.flat_loops import (
    Memory,
    flat,
    index,
    is_flat,
    looped,
    vectorized,
)
from parpass.relay.op.declaration.layout import Layout, transformed_shape
from parpass.relay.op.nn.windows import window_counts
from parpass.tir.expr import PrimExpr, Var
from parpass.tir.op import add, const, multiply
from parpass.tir.stmt import Stmt, stmt_seq


class Sides(NamedTuple):
    """The extent of the image, and its padding, that windows read along an axis.

    Attributes:
        before: The number of zeros before the image.
        seen: The length of the part of the image that is read.
        behind: The number of zeros after the image.
        length: The length of the image.
    """

    before: int
    seen: int
    behind: int
    length: int

    @staticmethod
    def of(length: int, before: int, extent: int) -> Sides:
        """Return what is seen of an image with padding.

        Args:
            length: How long the image is.
            before: How much padding is before it.
            extent: How much all windows see together.
        """
        before = min(before, extent)
        seen = max(0, min(length, extent - before))
        return Sides(before, seen, extent - before - seen, length)

    @property
    def is_bare(self) -> bool:
        """Whether no padding is seen."""
        return not self.before and not self.behind

    @property
    def total(self) -> int:
        """How much is seen with the padding."""
        return self.before + self.seen + self.behind


class FlatInput(NamedTuple):
    """Channels of one image in memory.

    Attributes:
        data: Where they are.
        dtype: That of the elements.
        shape: Blocks of channels, height, width, and the channels of a block.
        begin: Where they begin.
    """

    data: Var
    dtype: str
    shape: tuple[int, int, int, int]
    begin: PrimExpr

    def place(self, indices: Sequence[PrimExpr]) -> PrimExpr:
        """Return the place of an element."""
        return add(self.begin, flat(indices, self.shape))


def in_blocks(source: Source) -> Source:
    """Return images in NCHW as images in blocks of one channel."""
    if len(source.shape) == 5:
        return source

    def at(indices: Indices) -> PrimExpr:
        return source.at(indices[:-1])

    return source._replace(shape=(*source.shape, 1), at=at)


def with_input(
    source: Source,
    image: PrimExpr,
    sides: tuple[Sides, Sides] | None,
    lanes: int,
    body: Callable[[FlatInput], Stmt],
    only: PrimExpr | None = None,
) -> Stmt:
    """Return a statement that has the channels of one image in memory.

    What is padded, or computed from something else, is copied to memory of its own.

    Args:
        source: The images: blocks of channels, height, width, channels of a block.
        image: Which image.
        sides: What is seen along height and width; None for the image as it is.
        lanes: How many elements are copied at once.
        body: What is to be done with them.
        only: The block of channels that is wanted; None for all.
    """
    blocks, height, width, block = source.shape[1:]
    if sides is None and is_flat(source):
        assert source.buffer is not None
        shape = (blocks, height, width, block)
        begin = flat(
            (image, index(0) if only is None else only, *[index(0)] * 3), source.shape
        )
        return body(FlatInput(source.buffer.data, source.dtype, shape, begin))
    if only is not None:
        source, blocks = _one_block(source, only), 1
    sides = sides or (Sides.of(height, 0, height), Sides.of(width, 0, width))
    rows, columns = sides
    shape = (blocks, rows.total, columns.total, block)
    memory = Memory("padded", source.dtype, shape)
    found = FlatInput(memory.data, source.dtype, shape, index(0))
    copy = _Rows(source, image, found, memory, lanes, columns)

    def of_block(channel: PrimExpr) -> Stmt:
        return stmt_seq(
            *copy.zeros(channel, 0, rows.before),
            looped(
                "copied.row",
                rows.seen,
                lambda row: copy.copied(channel, row, rows.before),
            ),
            *copy.zeros(channel, rows.before + rows.seen, rows.behind),
        )

    copied = looped("copied.channel", blocks, of_block)
    return memory.within(stmt_seq(copied, body(found)))


def _one_block(source: Source, channels: PrimExpr) -> Source:
    """Return one block of the channels of images."""
    batch, _, *rest = source.shape

    def at(indices: Indices) -> PrimExpr:
        return source.at((indices[0], channels, *indices[2:]))

    return Source((batch, 1, *rest), source.dtype, at)


class _Rows(NamedTuple):
    source: Source
    image: PrimExpr
    into: FlatInput
    memory: Memory
    lanes: int
    columns: Sides

    def zeros(self, channel: PrimExpr, first: int, count: int) -> list[Stmt]:
        """Return what makes rows zero."""
        begin = self.into.place((channel, index(first), index(0), index(0)))
        return self._zeros(begin, count * self.into.shape[2] * self.into.shape[3])

    def _zeros(self, begin: PrimExpr, count: int) -> list[Stmt]:
        if count <= 0:
            return []
        zero = const(0, self.into.dtype)
        store = self.memory.store
        return [
            vectorized(
                "zero", count, self.lanes, lambda at: store(add(begin, at), zero)
            )
        ]

    def copied(self, channel: PrimExpr, row: PrimExpr, top: int) -> Stmt:
        """Return what copies a row, with zeros at its sides."""
        block = self.into.shape[3]
        left, seen, right, _ = self.columns
        begin = self.into.place((channel, add(row, index(top)), index(0), index(0)))
        from_left = add(begin, index(left * block))
        behind = add(begin, index((left + seen) * block))

        def one(at: PrimExpr, lane: PrimExpr) -> Stmt:
            place = add(from_left, flat((at, lane), (seen, block)))
            indices = (self.image, channel, row, at, lane)
            return self.memory.store(place, self.source.at(indices))

        if block == 1:
            copy = vectorized("column", seen, self.lanes, lambda at: one(at, index(0)))
        else:
            copy = looped(
                "column",
                seen,
                lambda at: vectorized("lane", block, self.lanes, lambda c: one(at, c)),
            )
        return stmt_seq(
            *self._zeros(begin, left * block), copy, *self._zeros(behind, right * block)
        )


class Conv2DShape(NamedTuple):
    """The lengths of a convolution; pairs are of height and width.

    Attributes:
        batch: How many images there are.
        groups: Into how many groups the channels are split.
        inputs: How many input channels a group has.
        outputs: How many output channels a group has.
        image: The lengths of an image.
        kernel: Those of the kernel.
        counts: Those of the result.
        strides: The step from one window to the next.
        dilation: The step from one element of a window to the next.
        before: The padding in front.
    """

    batch: int
    groups: int
    inputs: int
    outputs: int
    image: tuple[int, int]
    kernel: tuple[int, int]
    counts: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    before: tuple[int, int]

    @staticmethod
    def of(call: OpCall[Any]) -> Conv2DShape:
        """Return what the attributes and the operands of a call say."""
        attrs = call.attrs
        data, weight = (
            cast("tuple[int, ...]", transformed_shape(source.shape, layout, plain))
            for source, layout, plain in zip(
                call.sources, _layouts(attrs), ("NCHW", "OIHW"), strict=True
            )
        )
        image, kernel = (data[2], data[3]), (weight[2], weight[3])
        counts = window_counts(image, kernel, attrs)
        return Conv2DShape(
            *(data[0], attrs.groups, weight[1], weight[0] // attrs.groups),
            *(image, kernel, (counts[0], counts[1])),
            *(attrs.strides, attrs.dilation, attrs.padding[:2]),
        )

    @property
    def extents(self) -> tuple[int, int]:
        """How much of a padded image all windows see together."""
        height, width = (
            (count - 1) * stride + (size - 1) * dilation + 1
            for count, stride, size, dilation in zip(
                self.counts, self.strides, self.kernel, self.dilation, strict=True
            )
        )
        return height, width

    @property
    def sides(self) -> tuple[Sides, Sides] | None:
        """The padding of the image that windows read; None for none."""
        sizes = zip(self.image, self.before, self.extents, strict=True)
        height, width = (Sides.of(*size) for size in sizes)
        is_bare = height.is_bare and width.is_bare
        return None if is_bare else (height, width)

    def seen(self, place: PrimExpr, inside: PrimExpr, axis: int) -> PrimExpr:
        """Return which row (axis 0) or column of a padded image is seen.

        Args:
            place: The row or column of the result.
            inside: That of the kernel.
            axis: 0 for rows, 1 for columns.
        """
        return add(
            multiply(place, index(self.strides[axis])),
            multiply(inside, index(self.dilation[axis])),
        )


def _layouts(attrs: Any) -> tuple[str, str]:
    return attrs.data_layout, attrs.kernel_layout


def channel_block(layout: str) -> int | None:
    """Return how many channels are together in `NCHW` or `NCHW16c`; None in others."""
    found = Layout.of(layout)
    if found.axes == tuple("NCHW"):
        return 1
    return found.blocks[4] if found.axes == tuple("NCHWc") else None
