"""Convolutions in NCHW, of any number of channels: a vector is pixels of a row.

For channels that no block divides. Weights are scalars, which some vectors of pixels
are multiplied with; strides cost, since the pixels of a vector are not neighbours then.
"""

from __future__ import annotations

import math
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
from parpass.relay.backend.lowering.templates.conv_nest import ConvNest, takes
from parpass.relay.backend.lowering.templates.conv_operands import (
    CONVOLUTIONS,
    FlatInput,
    channel_block,
)
from parpass.relay.backend.lowering.templates.flat_loops import (
    bound_all,
    flat,
    in_chunks,
    index,
    nested,
)
from parpass.relay.op.declaration.layout import SPATIAL
from parpass.tir.expr import Load, PrimExpr
from parpass.tir.op import add, multiply
from parpass.tir.stmt import Stmt, stmt_seq


@register_template(*CONVOLUTIONS, level=20)
def plain_conv(call: OpCall[Any], store: Store) -> Stmt | None:
    """Convolve images in NCHW with a weight in OIHW, in groups or not."""
    attrs = call.attrs
    layouts = attrs.data_layout, attrs.out_layout or attrs.data_layout
    plain = f"OI{SPATIAL[len(attrs.strides)]}"
    if [*map(channel_block, layouts)] != [1, 1] or attrs.kernel_layout != plain:
        return None
    return _PlainConv(call, store).stmt() if takes(call) else None


class _Place(NamedTuple):
    """The position of a tile of results.

    Attributes:
        image: The image.
        group: The group of channels.
        row: The row; of a volume with its plane before it, of a signal none.
        channel: The first output channel in the group.
        channels: The number of output channels.
        column: The first pixel in the row.
        pixels: The number of pixels; the last vector may have fewer than its lanes.
    """

    image: PrimExpr
    group: PrimExpr
    row: tuple[PrimExpr, ...]
    channel: PrimExpr
    channels: int
    column: PrimExpr
    pixels: int


class _PlainConv(ConvNest):
    """The loops of a convolution, where a vector is pixels of a row."""

    def chosen_tile(self) -> Tile:
        """Return how many output channels, and vectors of pixels, are a tile."""
        pixels, lanes = self.shape.counts[-1], self.lanes
        return best_tile(
            *(self.shape.outputs, -(-pixels // lanes), self.registers.number),
            last_is_shorter=pixels % lanes > 0,
        )

    def rows(self, image: PrimExpr, data: FlatInput) -> Stmt:
        """Return the loops over the results of an image."""
        shape = self.shape
        wide = self.tile.columns * self.lanes

        def tiles(group: PrimExpr, *row: PrimExpr) -> Stmt:
            return in_chunks(
                *("output", shape.outputs, self.tile.rows),
                lambda channel, channels: in_chunks(
                    *("column", shape.counts[-1], wide),
                    lambda column, pixels: self._results(
                        data,
                        _Place(image, group, row, channel, channels, column, pixels),
                    ),
                ),
            )

        extents = (shape.groups, *shape.counts[:-1])
        return nested(("group", *shape.row_names()), extents, lambda at: tiles(*at))

    def _results(self, data: FlatInput, place: _Place) -> Stmt:
        """Return what computes the results of a tile and stores them."""
        shape = self.shape
        vectors = self._vectors(place)
        count = place.channels * len(vectors)
        products = nested(
            ("input", *shape.kernel_names()),
            (shape.inputs, *shape.kernel),
            lambda at: self._products(data, place, at[0], at[1:]),
        )
        stores = [
            self._stored(place, channel, at, channel * len(vectors) + at)
            for channel in range(place.channels)
            for at in range(len(vectors))
        ]
        return stmt_seq(self.sums.cleared(count), products, *stores)

    def _vectors(self, place: _Place) -> list[int]:
        """Return how many pixels each vector of a row has."""
        starts = range(0, place.pixels, self.lanes)
        return [min(self.lanes, place.pixels - start) for start in starts]

    def _products(
        self,
        data: FlatInput,
        place: _Place,
        channel: PrimExpr,
        inside: tuple[PrimExpr, ...],
    ) -> Stmt:
        """Return the products of weights and what pixels see by them."""
        shape = self.shape
        of_group = add(multiply(place.group, index(shape.inputs)), channel)
        seen = shape.seen((*place.row, place.column), inside)
        begin = data.place((of_group, *seen, index(0)))
        output = add(multiply(place.group, index(shape.outputs)), place.channel)
        kernel = (shape.inputs, *shape.kernel)
        weight = flat((output, channel, *inside), (1, *kernel))
        step = shape.strides[-1]

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
                add(first_weight, index(at * math.prod(kernel)))
                for at in range(place.channels)
            ]
            scalars = [Load(data.dtype, self.weight, one) for one in places]
            return self.sums.add_outer_product(scalars, vectors)

        return bound_all("at", (begin, weight), products)

    def _stored(self, place: _Place, channel: int, vector: int, at: int) -> Stmt:
        shape = self.shape
        first = add(multiply(place.group, index(shape.outputs)), place.channel)
        before = (place.image, add(first, index(channel)), *place.row)
        column = add(place.column, index(vector * self.lanes))
        return self.sums.each(
            at,
            lambda lane, value: self.store((*before, add(column, lane)), value),
            self._vectors(place)[vector],
        )
