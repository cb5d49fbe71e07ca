"""Convolutions of each channel by itself, with channels in blocks."""

from __future__ import annotations

from typing import Any

from parpass.relay.backend.lowering.rule_registry import (
    OpCall,
    Store,
    register_template,
)
from parpass.relay.backend.lowering.templates.accumulators import (
    Accumulators,
    best_tile,
)
from parpass.relay.backend.lowering.templates.conv2d_operands import (
    Conv2DShape,
    FlatInput,
    channel_block,
    with_input,
)
from parpass.relay.backend.lowering.templates.flat_loops import (
    bound_all,
    flat,
    in_chunks,
    index,
    is_flat,
    looped,
    nested,
    ramp,
    suits_vectors,
    vector,
)
from parpass.target.vector_registers import VectorRegisters
from parpass.tir.expr import Load
from parpass.tir.op import add
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Stmt, stmt_seq


@register_template(
    "nn.contrib_depthwise_conv2d_NCHWc", "nn.contrib_conv2d_NCHWc", level=30
)
def depthwise_conv2d(call: OpCall[Any], store: Store) -> Stmt | None:
    """Convolve each channel with its own weight, in layouts NCHW16c and OIHW1i16o.

    Some pixels of a row are summed up at once, for the channels of a block.
    """
    attrs = call.attrs
    _, weight = call.sources
    lanes = channel_block(attrs.data_layout)
    if lanes in (None, 1) or not is_flat(weight) or not suits_vectors(call):
        return None
    if attrs.kernel_layout not in (f"OIHW1i{lanes}o", f"OIHW{lanes}o"):
        return None
    shape = Conv2DShape.of(call)
    if (attrs.out_layout or attrs.data_layout) != attrs.data_layout:
        return None
    if (shape.inputs, shape.outputs) != (1, 1):
        return None
    return _DepthwiseConv2D(shape, call, store, lanes).stmt()


class _DepthwiseConv2D:
    """The loops of a convolution.

    Args:
        shape: What is computed.
        call: The call; its operands are the images and the weight.
        store: What is done with results.
        lanes: How many channels are together.
    """

    def __init__(
        self,
        shape: Conv2DShape,
        call: OpCall[Any],
        store: Store,
        lanes: int,
    ) -> None:
        self._shape, self._store, self._lanes = shape, store, lanes
        self._data, self._weight = call.sources
        dtype = self._data.dtype
        self._registers = VectorRegisters.of(call.target)
        needed = self._registers.of_vector(dtype, lanes)
        # No scalar is shared, and a vector is used once.
        self._pixels = best_tile(
            shape.counts[1], 1, self._registers.number, needed
        ).rows
        self._sums = Accumulators(self._pixels, lanes, dtype)

    def stmt(self) -> Stmt:
        """Return the loops."""
        extents = (self._shape.batch, self._shape.groups // self._lanes)
        loops = nested(("image", "channels"), extents, lambda at: self._of_block(*at))
        return self._sums.within(loops)

    def _of_block(self, image: PrimExpr, channels: PrimExpr) -> Stmt:
        # What is copied is one block, which the processor has at hand while it is used.
        lanes = self._registers.lanes(self._data.dtype)
        return with_input(
            *(self._data, image, self._shape.sides, lanes),
            lambda data: self._rows(data, image, channels),
            only=channels,
        )

    def _rows(self, data: FlatInput, image: PrimExpr, channels: PrimExpr) -> Stmt:
        return looped(
            "row",
            self._shape.counts[0],
            lambda row: in_chunks(
                *("column", self._shape.counts[1], self._pixels),
                lambda column, pixels: self._results(
                    data, (image, channels, row, column), pixels
                ),
            ),
        )

    def _results(
        self, data: FlatInput, place: tuple[PrimExpr, ...], pixels: int
    ) -> Stmt:
        """Return what computes the results of some pixels and stores them."""
        products = nested(
            ("y", "x"),
            self._shape.kernel,
            lambda at: self._products(data, place, at, pixels),
        )
        stores = [self._stored(place, pixel) for pixel in range(pixels)]
        return stmt_seq(self._sums.cleared(pixels), products, *stores)

    def _products(
        self,
        data: FlatInput,
        place: tuple[PrimExpr, ...],
        at: tuple[PrimExpr, ...],
        pixels: int,
    ) -> Stmt:
        """Return the products of an element of the kernel and what pixels see by it."""
        _, channels, row, column = place
        shape, lanes = self._shape, self._lanes
        wide, step = vector(data.dtype, lanes), shape.strides[1] * lanes
        top, left = shape.seen(row, at[0], 0), shape.seen(column, at[1], 1)
        begin = data.place((index(0), top, left, index(0)))
        buffer = self._weight.buffer
        assert buffer is not None
        place_of_weight = flat((channels, *at, index(0)), (1, *shape.kernel, lanes))
        weight = Load(wide, buffer.data, ramp(place_of_weight, lanes))

        def products(names: list[PrimExpr]) -> Stmt:
            first, factor = names
            starts = [add(first, index(pixel * step)) for pixel in range(pixels)]
            values = [Load(wide, data.data, ramp(one, lanes)) for one in starts]
            return stmt_seq(
                *(
                    self._sums.add_product(pixel, value, factor)
                    for pixel, value in enumerate(values)
                )
            )

        return bound_all("at", (begin, weight), products)

    def _stored(self, place: tuple[PrimExpr, ...], pixel: int) -> Stmt:
        *before, column = place
        at = add(column, index(pixel))
        return self._sums.each(
            pixel, lambda lane, value: self._store((*before, at, lane), value)
        )
