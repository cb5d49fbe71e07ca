"""Convolutions by long windows that are apart: a vector is a part of a window.

As in a short-time Fourier transform: the pixels of a vector of `plain_conv` would be
far from each other, and each be read by itself. The lanes of a sum are added at the
end, as in a product of rows with rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.relay.backend.lowering.rule_registry import (
    OpCall,
    Store,
    register_template,
)
from parpass.relay.backend.lowering.templates.accumulators import (
    Tile,
    lanes_tile,
    loaded,
)
from parpass.relay.backend.lowering.templates.conv_operands import (
    CONVOLUTIONS,
    ConvShape,
    FlatInput,
    with_long_rows,
)
from parpass.relay.backend.lowering.templates.flat_loops import (
    bound_all,
    in_chunks,
    index,
    nested,
)
from parpass.relay.backend.lowering.templates.plain_conv import (
    Place,
    PlainConv,
    suits_plain_conv,
)
from parpass.target.vector_registers import VectorRegisters
from parpass.tir.expr import PrimExpr
from parpass.tir.op import add, multiply
from parpass.tir.stmt import Stmt, stmt_seq


@register_template(*CONVOLUTIONS, level=30)
def window_products(call: OpCall[Any], store: Store) -> Stmt | None:
    """Convolve images in NCHW whose windows are a vector long, and not neighbours."""
    call, store = with_long_rows(call, store)
    if not suits_plain_conv(call):
        return None
    shape = ConvShape.of(call)
    lanes = VectorRegisters.of(call.target).lanes(call.out.dtype)
    is_apart = shape.strides[-1] > 1 and shape.dilation[-1] == 1
    if not is_apart or shape.kernel[-1] < lanes:
        return None
    return _WindowProducts.loops(shape, call, store)


class _WindowProducts(PlainConv):
    """The loops of a convolution, where a vector is neighbours in a window."""

    def chosen_tile(self) -> Tile:
        """Return how many output channels and pixels are a tile."""
        pixels = min(self.shape.counts[-1], self.lanes)
        return lanes_tile(self.shape.outputs, pixels, self.registers.number)

    def columns(self, body: Callable[[PrimExpr, int, int], Stmt]) -> Stmt:
        """Return a loop over the tiles of a row."""
        return in_chunks(
            *("column", self.shape.counts[-1], self.tile.columns),
            lambda column, pixels: body(column, pixels, pixels),
        )

    def results(self, data: FlatInput, place: Place) -> Stmt:
        """Return what computes the results of a tile and stores them."""
        shape, pixels = self.shape, place.pixels
        *outer, name = shape.kernel_names()
        products = nested(
            ("input", *outer),
            (shape.inputs, *shape.kernel[:-1]),
            lambda at: in_chunks(
                *(name, shape.kernel[-1], self.lanes),
                lambda x, some: self._part(data, place, (*at, x), some),
            ),
        )
        parts = [self.sums.cleared(place.channels * pixels), products]
        output = add(multiply(place.group, index(shape.outputs)), place.channel)
        for channel in range(place.channels):
            before = (place.image, add(output, index(channel)), *place.row)
            parts += (
                self.sums.add_lanes(channel * pixels, pixels),
                self.sums.each(
                    channel * pixels,
                    lambda lane, value, before=before: self.store(
                        (*before, add(place.column, lane)), value
                    ),
                    pixels,
                ),
            )
        return stmt_seq(*parts)

    def _part(
        self, data: FlatInput, place: Place, at: tuple[PrimExpr, ...], some: int
    ) -> Stmt:
        """Return the products of neighbours in all windows and in all kernels.

        Args:
            data: The input.
            place: The tile.
            at: The input channel in the group, and the first of them in a window.
            some: How many they are.
        """
        shape, (channel, *inside) = self.shape, at
        of_group = add(multiply(place.group, index(shape.inputs)), channel)
        seen = shape.seen((*place.row, place.column), inside)
        weight, to_next = self.weight_place(place, channel, inside)
        begins = data.place((of_group, *seen, index(0))), weight

        def products(starts: list[PrimExpr]) -> Stmt:
            first, first_weight = starts
            windows, kernels = (
                [
                    loaded(
                        *(data.dtype, memory, add(start, index(number * step))),
                        *(self.lanes, 1, some),
                    )
                    for number in range(count)
                ]
                for memory, start, step, count in (
                    (data.data, first, shape.step, place.pixels),
                    (self.weight, first_weight, to_next, place.channels),
                )
            )
            return self.sums.add_outer_product(kernels, windows)

        return bound_all("at", begins, products)
