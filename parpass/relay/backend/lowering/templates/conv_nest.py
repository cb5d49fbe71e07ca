"""The base of convolution templates: operands, registers and the loop of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.relay.backend.lowering.rule_registry import OpCall, Store
from parpass.relay.backend.lowering.templates.accumulators import Accumulators, Tile
from parpass.relay.backend.lowering.templates.conv_operands import (
    ConvShape,
    FlatInput,
    in_blocks,
    with_input,
)
from parpass.relay.backend.lowering.templates.flat_loops import (
    in_memory,
    looped,
)
from parpass.target.vector_registers import VectorRegisters
from parpass.tir.expr import PrimExpr
from parpass.tir.stmt import Stmt


class ConvNest:
    """The loops of a convolution.

    Args:
        shape: The lengths.
        call: The call; its operands are the images and the weight, which is in memory.
        store: What is done with results.
        lanes: How many results a vector holds; None for as many as a register.
    """

    def __init__(
        self,
        shape: ConvShape,
        call: OpCall[Any],
        store: Store,
        lanes: int | None = None,
    ) -> None:
        self.shape, self.store = shape, store
        data, weight = call.sources
        assert weight.buffer is not None
        self.data = in_blocks(data, len(shape.kernel))
        self.weight = weight.buffer.data
        self.dtype = data.dtype
        self.registers = VectorRegisters.of(call.target)
        self.lanes = lanes or self.registers.lanes(self.dtype)
        self.tile = self.chosen_tile()
        count = self.tile.rows * self.tile.columns * shape.phases
        self.sums = Accumulators(count, self.lanes, self.dtype)

    @classmethod
    def loops(
        cls,
        shape: ConvShape,
        call: OpCall[Any],
        store: Store,
        lanes: int | None = None,
    ) -> Stmt:
        """Return the loops, with the weight in memory as they read it.

        One that is computed, or of narrower floats, is computed once for all images.
        """
        return in_memory(call, lambda new: cls(shape, new, store, lanes).stmt(), {1})

    def chosen_tile(self) -> Tile:
        """Return how many results are computed at once."""
        raise NotImplementedError

    def rows(self, image: PrimExpr, data: FlatInput) -> Stmt:
        """Return the loops over the results of an image."""
        raise NotImplementedError

    def stmt(self) -> Stmt:
        """Return the loops."""
        return self.sums.within(
            looped(
                "image",
                self.shape.batch,
                lambda image: self.with_data(
                    image, lambda data: self.rows(image, data)
                ),
            )
        )

    def with_data(
        self,
        image: PrimExpr,
        body: Callable[[FlatInput], Stmt],
        only: PrimExpr | None = None,
    ) -> Stmt:
        """Return a statement that has the channels of an image; see `with_input`."""
        lanes = self.registers.lanes(self.dtype)
        return with_input(self.data, image, self.shape.sides, lanes, body, only)
