"""Convolutions whose channels are in blocks: a vector is the channels of a block.

After Georganas et al., Anatomy of High-Performance Deep Learning Convolutions on SIMD
Architectures (2018): as many vectors of results as the registers hold, for some pixels
of a row and some blocks of output channels, are summed up over the input channels and
the kernel. A weight is a vector that is read once for all pixels, an input a scalar
that is read once for all blocks, so strides cost nothing.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from parpass.relay.backend.lowering.rule_registry import (
    OpCall,
    Store,
    register_template,
)
from parpass.relay.backend.lowering.templates.accumulators import Tile, best_tile
from parpass.relay.backend.lowering.templates.conv_nest import ConvNest
from parpass.relay.backend.lowering.templates.conv_operands import (
    CONVOLUTIONS,
    ConvShape,
    FlatInput,
    channel_block,
    packed_weights,
    with_long_rows,
)
from parpass.relay.backend.lowering.templates.flat_loops import (
    bound_all,
    flat,
    in_chunks,
    index,
    nested,
    ramp,
    suits_products,
    vector,
)
from parpass.tir.expr import Load, PrimExpr
from parpass.tir.op import add, multiply
from parpass.tir.stmt import Stmt, stmt_seq


@register_template("nn.contrib_conv2d_NCHWc", *CONVOLUTIONS, level=20)
def blocked_conv(call: OpCall[Any], store: Store) -> Stmt | None:
    """Convolve images, with results in blocks such as NCHW16c.

    The weight is in a layout such as OIHW16i16o, or OIHW16o where the data is in NCHW.
    """
    call, store = with_long_rows(call, store)
    attrs = call.attrs
    inner = channel_block(attrs.data_layout)
    lanes = channel_block(attrs.out_layout or attrs.data_layout)
    if inner is None or lanes in (None, 1) or not suits_products(call):
        return None
    if attrs.kernel_layout not in packed_weights(len(attrs.strides), inner, lanes):
        return None
    shape = ConvShape.of(call)
    if shape.inputs % inner or shape.outputs % lanes:
        return None
    return _BlockedConv.loops(shape, call, store, lanes)


class _Place(NamedTuple):
    """The position of a tile of results.

    Attributes:
        image: The image.
        group: The group of channels.
        block: The first block of output channels.
        row: The row; of a volume with its plane before it, of a signal none.
        column: The first pixel in the row.
        pixels: The number of pixels.
    """

    image: PrimExpr
    group: PrimExpr
    block: PrimExpr
    row: tuple[PrimExpr, ...]
    column: PrimExpr
    pixels: int


class _BlockedConv(ConvNest):
    """The loops of a convolution, where a vector is a block of output channels."""

    def chosen_tile(self) -> Tile:
        """Return how many pixels and blocks are a tile."""
        registers = self.registers
        return best_tile(
            *(self.shape.counts[-1], self._blocks_out, registers.number),
            registers.of_vector(self.dtype, self.lanes),
        )

    @property
    def _inner(self) -> int:
        return self.data.shape[-1]

    @property
    def _blocks_in(self) -> int:
        return self.shape.inputs // self._inner

    @property
    def _blocks_out(self) -> int:
        return self.shape.outputs // self.lanes

    def rows(self, image: PrimExpr, data: FlatInput) -> Stmt:
        """Return the loops over the results of an image."""
        shape, tile = self.shape, self.tile

        def tiles(at: tuple[PrimExpr, ...]) -> Stmt:
            group, channels, *row = at
            block = add(
                multiply(group, index(self._blocks_out)),
                multiply(channels, index(tile.columns)),
            )
            return in_chunks(
                "column",
                shape.counts[-1],
                tile.rows,
                lambda column, pixels: self._results(
                    data, _Place(image, group, block, (*row,), column, pixels)
                ),
            )

        extents = (
            shape.groups,
            self._blocks_out // tile.columns,
            *shape.counts[:-1],
        )
        return nested(("group", "channels", *shape.row_names()), extents, tiles)

    def _results(self, data: FlatInput, place: _Place) -> Stmt:
        """Return what computes the results of a tile and stores them."""
        shape, wide = self.shape, self.tile.columns
        sums = nested(
            ("block", *shape.kernel_names(), "channel"),
            (self._blocks_in, *shape.kernel, self._inner),
            lambda at: self._products(data, place, at[0], at[1:-1], at[-1]),
        )
        stores = [
            self._stored(place, pixel, block, pixel * wide + block)
            for pixel in range(place.pixels)
            for block in range(wide)
        ]
        return stmt_seq(self.sums.cleared(place.pixels * wide), sums, *stores)

    def _products(
        self,
        data: FlatInput,
        place: _Place,
        block: PrimExpr,
        inside: tuple[PrimExpr, ...],
        channel: PrimExpr,
    ) -> Stmt:
        """Return the products of one input channel of all pixels and its weights."""
        shape, lanes = self.shape, self.lanes
        block_in = add(multiply(place.group, index(self._blocks_in)), block)
        seen = shape.seen((*place.row, place.column), inside)
        begin = data.place((block_in, *seen, channel))
        kernel = (self._blocks_in, *shape.kernel, self._inner, lanes)
        weight = flat((place.block, block, *inside, channel, index(0)), (1, *kernel))
        step = shape.strides[-1] * self._inner

        def products(starts: list[PrimExpr]) -> Stmt:
            first, first_weight = starts
            scalars = [
                Load(data.dtype, data.data, add(first, index(pixel * step)))
                for pixel in range(place.pixels)
            ]
            vectors = [
                Load(
                    vector(data.dtype, lanes),
                    self.weight,
                    ramp(add(first_weight, index(at * math.prod(kernel))), lanes),
                )
                for at in range(self.tile.columns)
            ]
            return self.sums.add_outer_product(scalars, vectors)

        return bound_all("at", (begin, weight), products)

    def _stored(self, place: _Place, pixel: int, block: int, at: int) -> Stmt:
        channels = add(place.block, index(block))
        column = add(place.column, index(pixel))
        before = (place.image, channels, *place.row, column)
        return self.sums.each(
            at, lambda lane, value: self.store((*before, lane), value)
        )
