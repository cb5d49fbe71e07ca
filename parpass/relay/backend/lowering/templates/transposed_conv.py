"""Transposed convolutions in NCHW and the like: a vector is pixels of a row.

With a stride `s`, an element of the result sees by every `s`-th element of the kernel
only: by the others it sees zeros, which are between the elements of the image. So of
`s` neighbours each is a convolution with another part of the kernel: its phase. What
the pixels of a phase see are neighbours. The phases of a tile are summed up at once,
and their lanes are stored by turns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from parpass.relay.backend.lowering.index_maps import axis_lengths
from parpass.relay.backend.lowering.rule_registry import (
    OpCall,
    Store,
    register_template,
)
from parpass.relay.backend.lowering.templates.accumulators import repeated
from parpass.relay.backend.lowering.templates.conv_operands import (
    CONVOLUTIONS,
    ConvShape,
    Sides,
    Taps,
    channel_block,
    with_long_rows,
)
from parpass.relay.backend.lowering.templates.flat_loops import (
    Memory,
    bound_all,
    flat,
    index,
    looped,
    nested,
    suits_products,
    vectorized,
)
from parpass.relay.backend.lowering.templates.plain_conv import Place, PlainConv
from parpass.relay.op.declaration.layout import SPATIAL
from parpass.tir import op
from parpass.tir.expr import Load, PrimExpr, Select
from parpass.tir.op import add, const, floordiv, floormod, multiply, subtract
from parpass.tir.stmt import Stmt, stmt_seq


@register_template(*(f"{name}_transpose" for name in CONVOLUTIONS), level=20)
def transposed_conv(call: OpCall[Any], store: Store) -> Stmt | None:
    """Spread images in NCHW through a weight in IOHW, in groups or not."""
    call, store = with_long_rows(call, store)
    attrs = call.attrs
    layouts = attrs.data_layout, attrs.out_layout or attrs.data_layout
    plain = f"IO{SPATIAL[len(attrs.strides)]}"
    if [*map(channel_block, layouts)] != [1, 1] or attrs.kernel_layout != plain:
        return None
    if not suits_products(call):
        return None
    return _TransposedConv.loops(_TransposedShape.of(call), call, store)


class _TransposedShape(ConvShape):
    """The lengths of a transposed convolution.

    An element `i` of the image is seen by element `k` of the kernel from the place
    `i * stride - before + k * dilation` of the result.
    """

    @staticmethod
    def of(call: OpCall[Any]) -> _TransposedShape:
        """Return what the attributes and the operands of a call say."""
        attrs, axes = call.attrs, len(call.attrs.strides)
        data, weight = call.sources
        batch, _, *image = data.shape
        inputs, outputs, *kernel = weight.shape
        layout = attrs.out_layout or attrs.data_layout
        counts = axis_lengths(call.out.shape, layout, f"NC{SPATIAL[axes]}")[2:]
        return _TransposedShape(
            *(batch, attrs.groups, inputs // attrs.groups, outputs),
            *((*image,), (*kernel,), counts),
            *(attrs.strides, attrs.dilation, attrs.padding[:axes]),
        )

    @property
    def phases(self) -> int:
        """The number of neighbours that see by elements of the kernel of their own."""
        return self.strides[-1]

    @property
    def step(self) -> int:
        """The distance of what neighbours of one phase see."""
        return 1

    def seen_before(self, axis: int) -> int:
        """Return how much is seen before the image."""
        reach = (self.kernel[axis] - 1) * self.dilation[axis]
        return max(0, -self._first_seen(axis, -reach))

    def _first_seen(self, axis: int, place: int) -> int:
        """Return the first element of the image from a place of the result on."""
        return -(-(place + self.before[axis]) // self.strides[axis])

    @property
    def sides(self) -> tuple[Sides, ...] | None:
        """The padding of the image that results see; None for none."""
        lengths = [*self.counts[:-1], self.columns * self.phases]
        found: list[Sides] = []
        for axis, length in enumerate(lengths):
            before = self.seen_before(axis)
            last = (length - 1 + self.before[axis]) // self.strides[axis]
            found.append(Sides.of(self.image[axis], before, before + last + 1))
        return None if all(one.is_bare for one in found) else (*found,)

    def taps(self, places: Sequence[PrimExpr], phase: int = 0) -> list[Taps]:
        """Return by which elements of the kernel a result sees each axis.

        Args:
            places: Its place; the last one is that among the results of its phase.
            phase: Its phase.
        """
        *row, column = places
        of_phase = self._taps(len(row), index(phase))
        along = of_phase._replace(place=add(of_phase.place, column))
        return [*(self._taps(axis, place) for axis, place in enumerate(row)), along]

    def _taps(self, axis: int, place: PrimExpr) -> Taps:
        """Return by which elements the result at a place sees an axis.

        It sees by the elements `k` for which `place + before - k * dilation` is a
        multiple of the stride: every `stride / g`-th one, where `g` is the greatest
        divisor of stride and dilation; none where `g` is no divisor of the rest.
        """
        size, stride = self.kernel[axis], self.strides[axis]
        dilation = self.dilation[axis]
        common = math.gcd(stride, dilation)
        each = stride // common
        inverse = pow(dilation // common, -1, each)
        begun = add(place, index(self.before[axis]))
        whole = floordiv(begun, index(common))
        first = floormod(multiply(whole, index(inverse)), index(each))
        place = floordiv(subtract(begun, multiply(first, index(dilation))), stride)
        many: int | PrimExpr = size // each
        if size % each or common > 1:
            many = floordiv(subtract(index(size - 1 + each), first), index(each))
            fits = op.equal(floormod(begun, index(common)), index(0))
            many = Select(fits, many, index(0)) if common > 1 else many
        seen = add(place, index(self.seen_before(axis)))
        return Taps(many, seen, -(dilation // common), first, each)


class _TransposedConv(PlainConv):
    """The loops of a transposed convolution."""

    def weight_place(
        self, place: Place, channel: PrimExpr, element: Sequence[PrimExpr]
    ) -> tuple[PrimExpr, int]:
        """Return where a weight is, and how far that of the next output channel is."""
        shape = self.shape
        of_input = add(multiply(place.group, index(shape.inputs)), channel)
        kernel = (shape.outputs, *shape.kernel)
        at = flat((of_input, place.channel, *element), (1, *kernel))
        return at, math.prod(shape.kernel)

    def stmt(self) -> Stmt:
        """Return the loops."""
        shape = self.shape
        if math.prod(shape.strides) == 1:
            return super().stmt()
        size = (shape.groups * shape.outputs, math.prod(shape.strides))
        self._starts = Memory("starts", self.dtype, size)
        size = (shape.groups * shape.outputs, math.prod(shape.kernel))
        zeros = Memory("zeros", self.dtype, size)
        before = zeros.within(stmt_seq(self._zeros(zeros), self._added(zeros)))
        return self._starts.within(stmt_seq(before, super().stmt()))

    def _zeros(self, zeros: Memory) -> Stmt:
        """Return what sums up products of 0 and the weights, over input channels.

        What is between the elements of an image is multiplied as they are: of weights
        that are infinite, or NaN, such a product is NaN.
        """
        shape = self.shape
        size = shape.outputs * math.prod(shape.kernel)
        zero = const(0, self.dtype)

        def cleared(group: PrimExpr) -> Stmt:
            begin = multiply(group, index(size))
            return vectorized(
                *("zero", size, self.lanes),
                lambda at: zeros.store(add(begin, at), zero),
            )

        def summed(group: PrimExpr, channel: PrimExpr) -> Stmt:
            begin = multiply(group, index(size))
            of_input = add(multiply(group, index(shape.inputs)), channel)
            first = multiply(of_input, index(size))

            def more(at: PrimExpr) -> Stmt:
                weight = Load(self.dtype, self.weight, add(first, at))
                place = add(begin, at)
                total = add(zeros.load(place), multiply(weight, zero))
                return zeros.store(place, total)

            return vectorized("weight", size, self.lanes, more)

        return looped(
            "group",
            shape.groups,
            lambda group: stmt_seq(
                cleared(group),
                looped("input", shape.inputs, lambda channel: summed(group, channel)),
            ),
        )

    def _added(self, zeros: Memory) -> Stmt:
        """Return what adds those products by which the results of a phase see zeros."""
        shape, starts = self.shape, self._starts
        outputs = shape.groups * shape.outputs
        axes = len(shape.kernel)
        names = (*shape.row_names(), "column")

        def of_phase(at: tuple[PrimExpr, ...]) -> Stmt:
            channel, phase = at[0], at[1:]
            into = flat(at, (outputs, *shape.strides))

            def more(k: tuple[PrimExpr, ...]) -> Stmt:
                reached = [
                    op.equal(
                        floormod(
                            subtract(
                                add(phase[axis], index(shape.before[axis])),
                                multiply(k[axis], index(shape.dilation[axis])),
                            ),
                            index(shape.strides[axis]),
                        ),
                        index(0),
                    )
                    for axis in range(axes)
                ]
                value = zeros.load(flat((channel, *k), (outputs, *shape.kernel)))
                unseen = Select(op.all(*reached), const(0, self.dtype), value)
                return starts.store(into, add(starts.load(into), unseen))

            clear = starts.store(into, const(0, self.dtype))
            kernel = nested(shape.kernel_names(), shape.kernel, more)
            return stmt_seq(clear, kernel)

        return nested(("output", *names), (outputs, *shape.strides), of_phase)

    def begun(self, place: Place, count: int) -> Stmt:
        """Return what gives the sums of a tile the values that they begin with."""
        shape = self.shape
        if math.prod(shape.strides) == 1:
            return super().begun(place, count)
        output = add(multiply(place.group, index(shape.outputs)), place.channel)
        row = [
            floormod(at, index(stride))
            for at, stride in zip(place.row, shape.strides, strict=False)
        ]
        first = flat((output, *row, index(0)), (1, *shape.strides))
        channels, phases = place.channels, shape.phases
        vectors = count // (channels * phases)
        size = math.prod(shape.strides)

        def begun(starts: list[PrimExpr]) -> Stmt:
            stores: list[Stmt] = []
            for at in range(count):
                phase, rest = divmod(at, channels * vectors)
                number = rest // vectors * size + phase
                value = self._starts.load(add(starts[0], index(number)))
                stores.append(self.sums.set(at, repeated(value, self.lanes)))
            return stmt_seq(*stores)

        return bound_all("at", [first], begun)
