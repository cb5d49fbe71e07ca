"""Operands of convolution templates: padded flat input, layouts, lengths.

They are for signals, images and volumes alike: what is said of an image, whose rows
have pixels, holds for as many axes as there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from msgspec import structs

from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    OpCall,
    Source,
    Store,
)
from parpass.relay.backend.lowering.templates.flat_loops import (
    Memory,
    flat,
    index,
    is_flat,
    looped,
    vectorized,
)
from parpass.relay.op.declaration.layout import SPATIAL, Layout, transformed_shape
from parpass.relay.op.nn.windows import window_counts
from parpass.tir.expr import PrimExpr, Var
from parpass.tir.op import add, const, multiply
from parpass.tir.stmt import Stmt, stmt_seq


def with_long_rows(call: OpCall[Any], store: Store) -> tuple[OpCall[Any], Store]:
    """Return a convolution whose rows have more than one pixel, if the images have.

    An image of one column lies in memory as one of one row does, and the templates
    compute neighbours of a row together. Other convolutions are returned as they are.
    """
    attrs, tensors = call.attrs, (call.out, *call.sources)
    axes = len(attrs.strides)
    last = axes + 1  # after the channels, or batch, that each tensor has twice
    padding = attrs.padding[axes - 1 :: axes]
    if axes == 1 or any(padding) or any(one.shape[last] != 1 for one in tensors):
        return call, store

    def turned(lengths: Sequence[Any], begin: int = 2) -> tuple[Any, ...]:
        end = begin + axes
        first = lengths[end - 1 : end]
        return (*lengths[:begin], *first, *lengths[begin : end - 1], *lengths[end:])

    def back(indices: Indices) -> Indices:
        return (*indices[:2], *indices[3 : last + 1], indices[2], *indices[last + 1 :])

    changed: dict[str, Any] = {
        name: turned(getattr(attrs, name), 0)
        for name in ("strides", "dilation", "output_padding")
        if hasattr(attrs, name)
    }
    halves = attrs.padding[:axes], attrs.padding[axes:]
    changed["padding"] = tuple(one for half in halves for one in turned(half, 0))

    def turned_source(one: Source) -> Source:
        def at(indices: Indices) -> PrimExpr:
            return one.at(back(indices))

        return one._replace(shape=turned(one.shape), at=at)

    sources = [*map(turned_source, call.sources)]
    out = call.out._replace(shape=turned(call.out.shape))
    attrs = structs.replace(attrs, **changed)

    def turned_store(indices: Indices, value: PrimExpr) -> Stmt:
        return store(back(indices), value)

    return call._replace(attrs=attrs, sources=sources, out=out), turned_store


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
        shape: Blocks of channels, the lengths of an image, and the channels of a block.
        begin: Where they begin.
    """

    data: Var
    dtype: str
    shape: tuple[int, ...]
    begin: PrimExpr

    def place(self, indices: Sequence[PrimExpr]) -> PrimExpr:
        """Return the place of an element."""
        return add(self.begin, flat(indices, self.shape))


def in_blocks(source: Source, axes: int) -> Source:
    """Return images of so many axes, such as NCHW, as images in blocks of one channel.

    Those that are in blocks already are left.
    """
    if len(source.shape) == axes + 3:
        return source

    def at(indices: Indices) -> PrimExpr:
        return source.at(indices[:-1])

    return source._replace(shape=(*source.shape, 1), at=at)


def with_input(
    source: Source,
    image: PrimExpr,
    sides: tuple[Sides, ...] | None,
    lanes: int,
    body: Callable[[FlatInput], Stmt],
    only: PrimExpr | None = None,
) -> Stmt:
    """Return a statement that has the channels of one image in memory.

    What is padded, or computed from something else, is copied to memory of its own.

    Args:
        source: The images: blocks of channels, lengths of an image, and of a block.
        image: Which image.
        sides: What is seen along each axis; None for the image as it is.
        lanes: How many elements are copied at once.
        body: What is to be done with them.
        only: The block of channels that is wanted; None for all.
    """
    blocks, *lengths, block = source.shape[1:]
    if sides is None and is_flat(source):
        assert source.buffer is not None
        first = index(0) if only is None else only
        rest = [index(0)] * (len(lengths) + 1)
        begin = flat((image, first, *rest), source.shape)
        return body(
            FlatInput(source.buffer.data, source.dtype, source.shape[1:], begin)
        )
    if only is not None:
        source, blocks = _one_block(source, only), 1
    sides = sides or tuple(Sides.of(length, 0, length) for length in lengths)
    shape = (blocks, *(side.total for side in sides), block)
    memory = Memory("padded", source.dtype, shape)
    found = FlatInput(memory.data, source.dtype, shape, index(0))
    copy = _Copy(source, image, found, memory, lanes, sides)
    copied = looped("copied.channel", blocks, lambda channel: copy.part((channel,)))
    return memory.within(stmt_seq(copied, body(found)))


def _one_block(source: Source, channels: PrimExpr) -> Source:
    """Return one block of the channels of images."""
    batch, _, *rest = source.shape

    def at(indices: Indices) -> PrimExpr:
        return source.at((indices[0], channels, *indices[2:]))

    return Source((batch, 1, *rest), source.dtype, at)


class _Copy(NamedTuple):
    """The copying of an image to memory where it has zeros around it."""

    source: Source
    image: PrimExpr
    into: FlatInput
    memory: Memory
    lanes: int
    sides: tuple[Sides, ...]

    def part(self, places: tuple[PrimExpr, ...]) -> Stmt:
        """Return what copies a part of the image, with zeros before and behind it.

        Args:
            places: Its block of channels, and where it is along the first axes: for the
                pixels of a row, along all but the last.
        """
        axis = len(places) - 1
        before, seen, behind, _ = self.sides[axis]
        size = math.prod(self.into.shape[axis + 2 :])
        begin = self._begin(places)
        after = add(begin, index((before + seen) * size))
        if axis == len(self.sides) - 1:
            copied = self._row(places, add(begin, index(before * size)))
        else:
            copied = looped("copied.row", seen, lambda at: self.part((*places, at)))
        return stmt_seq(
            *self._zeros(begin, before * size),
            copied,
            *self._zeros(after, behind * size),
        )

    def _begin(self, places: tuple[PrimExpr, ...]) -> PrimExpr:
        channels, *known = places
        inner = [
            add(place, index(side.before))
            for place, side in zip(known, self.sides, strict=False)
        ]
        rest = [index(0)] * (len(self.into.shape) - len(places))
        return self.into.place((channels, *inner, *rest))

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

    def _row(self, places: tuple[PrimExpr, ...], begin: PrimExpr) -> Stmt:
        """Return what copies the pixels of a row."""
        seen, block = self.sides[-1].seen, self.into.shape[-1]

        def one(at: PrimExpr, lane: PrimExpr) -> Stmt:
            place = add(begin, flat((at, lane), (seen, block)))
            indices = (self.image, *places, at, lane)
            return self.memory.store(place, self.source.at(indices))

        if block == 1:
            return vectorized("column", seen, self.lanes, lambda at: one(at, index(0)))
        return looped(
            "column",
            seen,
            lambda at: vectorized("lane", block, self.lanes, lambda c: one(at, c)),
        )


class Taps(NamedTuple):
    """The elements of a kernel by which a result sees an axis of the image.

    Attributes:
        number: How many there are.
        place: What the first of them sees, in a padded image.
        step: How far from there the next one sees.
        first: Which element of the kernel is the first one.
        each: How far from there the next one is.
    """

    number: int | PrimExpr
    place: PrimExpr
    step: int
    first: PrimExpr
    each: int

    def seen(self, at: PrimExpr) -> PrimExpr:
        """Return what is seen."""
        return add(self.place, multiply(at, index(self.step)))

    def element(self, at: PrimExpr) -> PrimExpr:
        """Return by which element of the kernel."""
        return add(self.first, multiply(at, index(self.each)))


class ConvShape(NamedTuple):
    """The lengths of a convolution; of images, signals or volumes, axis by axis.

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
    image: tuple[int, ...]
    kernel: tuple[int, ...]
    counts: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]

    @staticmethod
    def of(call: OpCall[Any]) -> ConvShape:
        """Return what the attributes and the operands of a call say."""
        attrs = call.attrs
        axes = len(attrs.strides)
        data, weight = (
            cast("tuple[int, ...]", transformed_shape(source.shape, layout, plain))
            for source, layout, plain in zip(
                call.sources,
                (attrs.data_layout, attrs.kernel_layout),
                (f"NC{SPATIAL[axes]}", f"OI{SPATIAL[axes]}"),
                strict=True,
            )
        )
        image, kernel = data[2:], weight[2:]
        return ConvShape(
            *(data[0], attrs.groups, weight[1], weight[0] // attrs.groups),
            *(image, kernel, window_counts(image, kernel, attrs)),
            *(attrs.strides, attrs.dilation, attrs.padding[:axes]),
        )

    @property
    def extents(self) -> tuple[int, ...]:
        """The lengths of the part of a padded image that windows see."""
        return tuple(
            (count - 1) * stride + (size - 1) * dilation + 1
            for count, stride, size, dilation in zip(
                self.counts, self.strides, self.kernel, self.dilation, strict=True
            )
        )

    @property
    def sides(self) -> tuple[Sides, ...] | None:
        """The padding of the image that windows read; None for none."""
        sizes = zip(self.image, self.before, self.extents, strict=True)
        found = tuple(Sides.of(*size) for size in sizes)
        return None if all(one.is_bare for one in found) else found

    @property
    def phases(self) -> int:
        """The number of neighbours that see by elements of the kernel of their own."""
        return 1

    @property
    def step(self) -> int:
        """The distance of what neighbours of one phase see."""
        return self.strides[-1]

    @property
    def columns(self) -> int:
        """The number of results that a row has of each phase."""
        return -(-self.counts[-1] // self.phases)

    def taps(self, places: Sequence[PrimExpr], phase: int = 0) -> list[Taps]:
        """Return by which elements of the kernel a result sees each axis.

        Args:
            places: Its place; the last one is that among the results of its phase.
            phase: Its phase.
        """
        sizes = zip(places, self.strides, self.kernel, self.dilation, strict=True)
        return [
            Taps(size, multiply(place, index(stride)), step, index(0), 1)
            for place, stride, size, step in sizes
        ]

    def seen(
        self, places: Sequence[PrimExpr], inside: Sequence[PrimExpr]
    ) -> list[PrimExpr]:
        """Return the place in a padded image that is seen.

        Args:
            places: The place of the result.
            inside: That in the kernel.
        """
        pairs = zip(self.taps(places), inside, strict=True)
        return [taps.seen(at) for taps, at in pairs]

    def kernel_names(self) -> tuple[str, ...]:
        """Return names of loops over the kernel."""
        return ("z", "y", "x")[-len(self.kernel) :]

    def row_names(self) -> tuple[str, ...]:
        """Return names of the loops over the rows of a result."""
        return ("plane", "row")[3 - len(self.kernel) :]


CONVOLUTIONS = tuple(f"nn.conv{axes}d" for axes in SPATIAL)


def packed_weights(axes: int, inner: int, lanes: int) -> tuple[str, ...]:
    """Return the layouts of a weight in blocks, such as OIHW16i16o.

    Args:
        axes: How many axes the images have.
        inner: How many input channels are together; of 1 the layout may say nothing.
        lanes: How many output channels are together.
    """
    plain = f"OI{SPATIAL[axes]}"
    one = (f"{plain}{lanes}o",) if inner == 1 else ()
    return (f"{plain}{inner}i{lanes}o", *one)


def channel_block(layout: str) -> int | None:
    """Return how many channels are together in `NCHW` or `NCHW16c`; None in others.

    `NCW`, `NCDHW` and their blocked forms are likewise.
    """
    found = Layout.of(layout)
    plain = [("N", "C", *axes) for axes in SPATIAL.values()]
    if found.axes in plain:
        return 1
    *outer, last = found.axes
    return found.blocks[-1] if (*outer,) in plain and last == "c" else None
