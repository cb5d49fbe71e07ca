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
    Accumulators,
    best_tile,
    loaded,
)
from parpass.relay.backend.lowering.templates.conv2d_operands import (
    Conv2DShape,
    FlatInput,
    channel_block,
    in_blocks,
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
    suits_vectors,
)
from parpass.target.vector_registers import VectorRegisters
from parpass.tir.expr import Load
from parpass.tir.op import add, multiply
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Stmt, stmt_seq


@register_template("nn.conv2d", level=20)
def plain_conv2d(call: OpCall[Any], store: Store) -> Stmt | None:
    """Convolve images in NCHW with a weight in OIHW, in groups or not."""
    attrs = call.attrs
    _, weight = call.sources
    layouts = attrs.data_layout, attrs.out_layout or attrs.data_layout
    if [*map(channel_block, layouts)] != [1, 1] or attrs.kernel_layout != "OIHW":
        return None
    if not is_flat(weight) or not suits_vectors(call):
        return None
    shape = Conv2DShape.of(call)
    return _PlainConv2D(shape, call, store).stmt()


class _Place(NamedTuple):
    """The position of a tile of results.

    Attributes:
        image: The image.
        group: The group of channels.
        row: The row.
        channel: The first output channel in the group.
        channels: The number of output channels.
        column: The first pixel in the row.
        pixels: The number of pixels; the last vector may have fewer than its lanes.
    """

    image: PrimExpr
    group: PrimExpr
    row: PrimExpr
    channel: PrimExpr
    channels: int
    column: PrimExpr
    pixels: int


class _PlainConv2D:
    """The loops of a convolution.

    Args:
        shape: What is computed.
        call: The call; its operands are the images and the weight.
        store: What is done with results.
    """

    def __init__(self, shape: Conv2DShape, call: OpCall[Any], store: Store) -> None:
        self._shape, self._store = shape, store
        self._data, self._weight = call.sources
        registers = VectorRegisters.of(call.target)
        self._lanes = registers.lanes(self._data.dtype)
        vectors, rest = (
            -(-shape.counts[1] // self._lanes),
            shape.counts[1] % self._lanes,
        )
        self._tile = best_tile(
            *(shape.outputs, vectors, registers.number), last_is_shorter=rest > 0
        )
        count = self._tile.rows * self._tile.columns
        self._sums = Accumulators(count, self._lanes, self._data.dtype)

    def stmt(self) -> Stmt:
        """Return the loops."""
        return self._sums.within(
            looped(
                "image",
                self._shape.batch,
                lambda image: with_input(
                    *(in_blocks(self._data), image, self._shape.sides, self._lanes),
                    lambda data: self._rows(image, data),
                ),
            )
        )

    def _rows(self, image: PrimExpr, data: FlatInput) -> Stmt:
        shape = self._shape
        wide = self._tile.columns * self._lanes

        def tiles(group: PrimExpr, row: PrimExpr) -> Stmt:
            return in_chunks(
                *("output", shape.outputs, self._tile.rows),
                lambda channel, channels: in_chunks(
                    *("column", shape.counts[1], wide),
                    lambda column, pixels: self._results(
                        data,
                        _Place(image, group, row, channel, channels, column, pixels),
                    ),
                ),
            )

        extents = (shape.groups, shape.counts[0])
        return nested(("group", "row"), extents, lambda at: tiles(*at))

    def _results(self, data: FlatInput, place: _Place) -> Stmt:
        """Return what computes the results of a tile and stores them."""
        shape = self._shape
        vectors = self._vectors(place)
        count = place.channels * len(vectors)
        products = nested(
            ("input", "y", "x"),
            (shape.inputs, *shape.kernel),
            lambda at: self._products(data, place, *at),
        )
        stores = [
            self._stored(place, channel, at, channel * len(vectors) + at)
            for channel in range(place.channels)
            for at in range(len(vectors))
        ]
        return stmt_seq(self._sums.cleared(count), products, *stores)

    def _vectors(self, place: _Place) -> list[int]:
        """Return how many pixels each vector of a row has."""
        starts = range(0, place.pixels, self._lanes)
        return [min(self._lanes, place.pixels - start) for start in starts]

    def _products(
        self,
        data: FlatInput,
        place: _Place,
        channel: PrimExpr,
        y: PrimExpr,
        x: PrimExpr,
    ) -> Stmt:
        """Return the products of weights and what pixels see by them."""
        shape, buffer = self._shape, self._weight.buffer
        assert buffer is not None
        of_group = add(multiply(place.group, index(shape.inputs)), channel)
        top, left = shape.seen(place.row, y, 0), shape.seen(place.column, x, 1)
        begin = data.place((of_group, top, left, index(0)))
        output = add(multiply(place.group, index(shape.outputs)), place.channel)
        kernel = (shape.inputs, *shape.kernel)
        weight = flat((output, channel, y, x), (1, *kernel))
        step = shape.strides[1]

        def products(starts: list[PrimExpr]) -> Stmt:
            first, first_weight = starts
            vectors = [
                loaded(
                    data.dtype,
                    data.data,
                    add(first, index(at * self._lanes * step)),
                    self._lanes,
                    stride=step,
                    count=count,
                )
                for at, count in enumerate(self._vectors(place))
            ]
            places = [
                add(first_weight, index(at * math.prod(kernel)))
                for at in range(place.channels)
            ]
            scalars = [Load(data.dtype, buffer.data, one) for one in places]
            return self._sums.add_outer_product(scalars, vectors)

        return bound_all("at", (begin, weight), products)

    def _stored(self, place: _Place, channel: int, vector: int, at: int) -> Stmt:
        shape = self._shape
        first = add(multiply(place.group, index(shape.outputs)), place.channel)
        before = (place.image, add(first, index(channel)), place.row)
        column = add(place.column, index(vector * self._lanes))
        return self._sums.each(
            at,
            lambda lane, value: self._store((*before, add(column, lane)), value),
            self._vectors(place)[vector],
        )
