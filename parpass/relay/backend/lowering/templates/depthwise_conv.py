"""Convolutions of each channel by itself, with channels in blocks."""

from __future__ import annotations

from typing import Any

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
from parpass.tir.op import add
from parpass.tir.stmt import Stmt, stmt_seq


@register_template(
    *("nn.contrib_depthwise_conv2d_NCHWc", "nn.contrib_conv2d_NCHWc"),
    *CONVOLUTIONS,
    level=30,
)
def depthwise_conv(call: OpCall[Any], store: Store) -> Stmt | None:
    """Convolve each channel with its own weight, in layouts NCHW16c and OIHW1i16o.

    Some pixels of a row are summed up at once, for the channels of a block.
    """
    call, store = with_long_rows(call, store)
    attrs = call.attrs
    lanes = channel_block(attrs.data_layout)
    if lanes in (None, 1) or not suits_products(call):
        return None
    if attrs.kernel_layout not in packed_weights(len(attrs.strides), 1, lanes):
        return None
    shape = ConvShape.of(call)
    if (attrs.out_layout or attrs.data_layout) != attrs.data_layout:
        return None
    if (shape.inputs, shape.outputs) != (1, 1):
        return None
    return _DepthwiseConv.loops(shape, call, store, lanes)


class _DepthwiseConv(ConvNest):
    """The loops of a convolution, where a vector is a block of channels."""

    def chosen_tile(self) -> Tile:
        """Return how many pixels are a tile."""
        # No scalar is shared, and a vector is used once.
        registers = self.registers
        needed = registers.of_vector(self.dtype, self.lanes)
        return best_tile(self.shape.counts[-1], 1, registers.number, needed)

    def stmt(self) -> Stmt:
        """Return the loops."""
        extents = (self.shape.batch, self.shape.groups // self.lanes)
        loops = nested(("image", "channels"), extents, lambda at: self._of_block(*at))
        return self.sums.within(loops)

    def _of_block(self, image: PrimExpr, channels: PrimExpr) -> Stmt:
        # What is copied is one block, which the processor has at hand while it is used.
        return self.with_data(
            image, lambda data: self._rows(data, image, channels), only=channels
        )

    def _rows(self, data: FlatInput, image: PrimExpr, channels: PrimExpr) -> Stmt:
        shape = self.shape
        return nested(
            shape.row_names(),
            shape.counts[:-1],
            lambda row: in_chunks(
                *("column", shape.counts[-1], self.tile.rows),
                lambda column, pixels: self._results(
                    data, (image, channels, *row, column), pixels
                ),
            ),
        )

    def _results(
        self, data: FlatInput, place: tuple[PrimExpr, ...], pixels: int
    ) -> Stmt:
        """Return what computes the results of some pixels and stores them."""
        products = nested(
            self.shape.kernel_names(),
            self.shape.kernel,
            lambda at: self._products(data, place, at, pixels),
        )
        stores = [self._stored(place, pixel) for pixel in range(pixels)]
        return stmt_seq(self.sums.cleared(pixels), products, *stores)

    def _products(
        self,
        data: FlatInput,
        place: tuple[PrimExpr, ...],
        at: tuple[PrimExpr, ...],
        pixels: int,
    ) -> Stmt:
        """Return the products of an element of the kernel and what pixels see by it."""
        _, channels, *where = place
        shape, lanes = self.shape, self.lanes
        wide, step = vector(data.dtype, lanes), shape.strides[-1] * lanes
        begin = data.place((index(0), *shape.seen(where, at), index(0)))
        place_of_weight = flat((channels, *at, index(0)), (1, *shape.kernel, lanes))
        weight = Load(wide, self.weight, ramp(place_of_weight, lanes))

        def products(names: list[PrimExpr]) -> Stmt:
            first, factor = names
            starts = [add(first, index(pixel * step)) for pixel in range(pixels)]
            values = [Load(wide, data.data, ramp(one, lanes)) for one in starts]
            return stmt_seq(
                *(
                    self.sums.add_product(pixel, value, factor)
                    for pixel, value in enumerate(values)
                )
            )

        return bound_all("at", (begin, weight), products)

    def _stored(self, place: tuple[PrimExpr, ...], pixel: int) -> Stmt:
        *before, column = place
        at = add(column, index(pixel))
        return self.sums.each(
            pixel, lambda lane, value: self.store((*before, at, lane), value)
        )
