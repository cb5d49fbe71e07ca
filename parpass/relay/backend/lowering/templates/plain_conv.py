"""Convolutions in NCHW, of any number of channels: a vector is pixels of a row.

For channels that no block divides. Weights are scalars, which some vectors of pixels
are multiplied with; strides cost, since the pixels of a vector are not neighbours then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from parpass.relay.backend.lowering.rule_registry import (
    OpCall,
    Store,
    register_template,
)
from parpass.relay.backend.lowering.templates.accumulators import (
    Tile,
    best_tile,
    loaded,
)
from parpass.relay.backend.lowering.templates.conv_nest import ConvNest
from parpass.relay.backend.lowering.templates.conv_operands import (
    CONVOLUTIONS,
    ConvShape,
    FlatInput,
    Taps,
    channel_block,
    with_long_rows,
)
from parpass.relay.backend.lowering.templates.flat_loops import (
    bound_all,
    flat,
    in_chunks,
    index,
    looped,
    nested,
    suits_products,
)
from parpass.relay.op.declaration.layout import SPATIAL
from parpass.tir.expr import Load, PrimExpr
from parpass.tir.op import add, multiply
from parpass.tir.stmt import Stmt, stmt_seq


@register_template(*CONVOLUTIONS, level=20)
def plain_conv(call: OpCall[Any], store: Store) -> Stmt | None:
    """Convolve images in NCHW with a weight in OIHW, in groups or not."""
    call, store = with_long_rows(call, store)
    if not suits_plain_conv(call):
        return None
    return PlainConv.loops(ConvShape.of(call), call, store)


def suits_plain_conv(call: OpCall[Any]) -> bool:
    """Return whether it is of images in NCHW, a weight in OIHW, and one dtype."""
    attrs = call.attrs
    layouts = attrs.data_layout, attrs.out_layout or attrs.data_layout
    plain = f"OI{SPATIAL[len(attrs.strides)]}"
    is_plain = [*map(channel_block, layouts)] == [1, 1] and attrs.kernel_layout == plain
    return is_plain and suits_products(call)


class Place(NamedTuple):
    """The position of a tile of results.

    Attributes:
        image: The image.
        group: The group of channels.
        row: The row; of a volume with its plane before it, of a signal none.
        channel: The first output channel in the group.
        channels: The number of output channels.
        column: The first pixel in the row, among those of its phase.
        pixels: The number of pixels of each phase; the last vector may have fewer than
            its lanes.
        results: The number of pixels of all phases.
    """

    image: PrimExpr
    group: PrimExpr
    row: tuple[PrimExpr, ...]
    channel: PrimExpr
    channels: int
    column: PrimExpr
    pixels: int
    results: int


class PlainConv(ConvNest):
    """The loops of a convolution, where a vector is pixels of a row."""

    def weight_place(
        self, place: Place, channel: PrimExpr, element: Sequence[PrimExpr]
    ) -> tuple[PrimExpr, int]:
        """Return where a weight is, and how far that of the next output channel is.

        Args:
            place: The tile, whose first output channel is meant.
            channel: The input channel in the group.
            element: The element of the kernel.
        """
        shape = self.shape
        output = add(multiply(place.group, index(shape.outputs)), place.channel)
        kernel = (shape.inputs, *shape.kernel)
        return flat((output, channel, *element), (1, *kernel)), math.prod(kernel)

    def begun(self, place: Place, count: int) -> Stmt:
        """Return what gives the sums of a tile the values that they begin with.

        Args:
            place: The tile.
            count: How many sums it has.
        """
        return self.sums.cleared(count)

    def chosen_tile(self) -> Tile:
        """Return how many output channels, and vectors of pixels, are a tile."""
        pixels, lanes = self.shape.columns, self.lanes
        return best_tile(
            *(self.shape.outputs, -(-pixels // lanes), self.registers.number),
            last_is_shorter=pixels % lanes > 0,
            phases=self.shape.phases,
        )

    def rows(self, image: PrimExpr, data: FlatInput) -> Stmt:
        """Return the loops over the results of an image."""
        shape = self.shape

        def tiles(group: PrimExpr, *row: PrimExpr) -> Stmt:
            return in_chunks(
                *("output", shape.outputs, self.tile.rows),
                lambda channel, channels: self.columns(
                    lambda column, pixels, results: self.results(
                        data,
                        Place(
                            *(image, group, row, channel, channels),
                            *(column, pixels, results),
                        ),
                    )
                ),
            )

        extents = (shape.groups, *shape.counts[:-1])
        return nested(("group", *shape.row_names()), extents, lambda at: tiles(*at))

    def columns(self, body: Callable[[PrimExpr, int, int], Stmt]) -> Stmt:
        """Return a loop over the tiles of a row.

        Args:
            body: Given the first pixel of a tile and how many it has, of each phase,
                and how many it has of all.
        """
        shape, wide = self.shape, self.tile.columns * self.lanes
        lacking = shape.columns * shape.phases - shape.counts[-1]
        # The end of a row that lacks some results is a tile of its own.
        last = (shape.columns - 1) % wide + 1 if lacking else 0
        parts: list[Stmt] = []
        if shape.columns > last:
            whole = in_chunks(
                *("column", shape.columns - last, wide),
                lambda column, pixels: body(column, pixels, pixels * shape.phases),
            )
            parts.append(whole)
        if last:
            column = index(shape.columns - last)
            parts.append(body(column, last, last * shape.phases - lacking))
        return stmt_seq(*parts)

    def results(self, data: FlatInput, place: Place) -> Stmt:
        """Return what computes the results of a tile and stores them."""
        shape = self.shape
        vectors = self._vectors(place)
        of_phase = place.channels * len(vectors)
        taps = [
            shape.taps((*place.row, place.column), phase)
            for phase in range(shape.phases)
        ]
        names = shape.kernel_names()

        def of_row(at: tuple[PrimExpr, ...]) -> Stmt:
            phases = (
                looped(
                    names[-1],
                    some[-1].number,
                    lambda x, phase=phase, some=some: self._products(
                        data, place, at[0], some, (*at[1:], x), phase * of_phase
                    ),
                )
                for phase, some in enumerate(taps)
            )
            return stmt_seq(*phases)

        outer = (shape.inputs, *(one.number for one in taps[0][:-1]))
        products = nested(("input", *names[:-1]), outer, of_row)
        finished: list[Stmt] = []
        for first in range(of_phase):
            sums = range(first, of_phase * shape.phases, of_phase)
            channel, vector = divmod(first, len(vectors))
            if shape.phases > 1:
                finished.append(self.sums.interleave(sums))
            finished += self._stored(place, channel, vector * shape.phases, sums)
        begun = self.begun(place, of_phase * shape.phases)
        return stmt_seq(begun, products, *finished)

    def _vectors(self, place: Place) -> list[int]:
        """Return how many pixels each vector of a row has."""
        starts = range(0, place.pixels, self.lanes)
        return [min(self.lanes, place.pixels - start) for start in starts]

    def _products(
        self,
        data: FlatInput,
        place: Place,
        channel: PrimExpr,
        taps: Sequence[Taps],
        at: tuple[PrimExpr, ...],
        sums: int,
    ) -> Stmt:
        """Return the products of weights and what pixels see by them.

        Args:
            data: The input.
            place: The tile.
            channel: The input channel in the group.
            taps: What the first pixel sees.
            at: Which of that.
            sums: The first sum to which products are added.
        """
        shape, step = self.shape, self.shape.step
        of_group = add(multiply(place.group, index(shape.inputs)), channel)
        pairs = list(zip(taps, at, strict=True))
        seen = [one.seen(number) for one, number in pairs]
        begin = data.place((of_group, *seen, index(0)))
        element = [one.element(number) for one, number in pairs]
        weight, to_next = self.weight_place(place, channel, element)

        def products(starts: list[PrimExpr]) -> Stmt:
            first, first_weight = starts
            vectors = [
                loaded(
                    data.dtype,
                    data.data,
                    add(first, index(at * self.lanes * step)),
                    self.lanes,
                    stride=step,
                    count=count,
                )
                for at, count in enumerate(self._vectors(place))
            ]
            places = [
                add(first_weight, index(at * to_next)) for at in range(place.channels)
            ]
            scalars = [Load(data.dtype, self.weight, one) for one in places]
            return self.sums.add_outer_product(scalars, vectors, sums)

        return bound_all("at", (begin, weight), products)

    def _stored(
        self, place: Place, channel: int, first: int, sums: Sequence[int]
    ) -> list[Stmt]:
        """Return what stores neighbours: those of the sums, one after the other.

        Args:
            place: The tile.
            channel: The output channel in the tile.
            first: The number of the first vector of these results.
            sums: Which sums.
        """
        shape, lanes = self.shape, self.lanes
        output = add(multiply(place.group, index(shape.outputs)), place.channel)
        before = (place.image, add(output, index(channel)), *place.row)
        begin = multiply(place.column, index(shape.phases))
        found: list[Stmt] = []
        for number, at in enumerate(sums, first):
            column = add(begin, index(number * lanes))
            count = min(lanes, place.results - number * lanes)
            if count > 0:
                found.append(
                    self.sums.each(
                        at,
                        lambda lane, value, column=column: self.store(
                            (*before, add(column, lane)), value
                        ),
                        count,
                    )
                )
        return found
