"""Products of batches of matrices: what both ways to multiply them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from parpass.relay.backend.lowering.template import Result, Source, Store
from parpass.relay.backend.lowering.templates.accumulators import Accumulators
from parpass.relay.backend.lowering.templates.flat_loops import index
from parpass.target.target import Target
from parpass.target.vector_registers import VectorRegisters
from parpass.tir.op import floordiv, floormod, multiply
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Stmt


class ProductLengths(NamedTuple):
    """The lengths of a product of batches of matrices.

    Attributes:
        batch: How many products there are; of 1 matrix where a factor has one for all.
        rows: The rows of the first factor.
        inner: The length of the common dimension.
        columns: The columns of the result.
    """

    batch: tuple[int, int]
    rows: int
    inner: int
    columns: int


class ProductNest:
    """The loops of a product.

    Args:
        lengths: What is multiplied.
        sources: The factors.
        out: The result.
        store: What is done with results.
        target: The machine.
    """

    def __init__(
        self,
        lengths: ProductLengths,
        sources: Sequence[Source],
        out: Result,
        store: Store,
        target: Target,
    ) -> None:
        self.lengths, self._store, self.out = lengths, store, out
        self.a, self.b = sources
        registers = VectorRegisters.of(target)
        self.lanes = registers.lanes(out.dtype)
        self.tile = self.chosen_tile(registers.number)
        count = self.tile[0] * self.tile[1]
        self.sums = Accumulators(count, self.lanes, out.dtype)

    def chosen_tile(self, registers: int) -> tuple[int, int]:
        """Return how many rows and vectors are a tile."""
        raise NotImplementedError

    def begins(self, batch: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """Return where the matrices of a product begin."""
        of_a, of_b = self.lengths.batch
        one_a = self.lengths.rows * self.lengths.inner
        one_b = self.lengths.inner * self.lengths.columns
        return (
            multiply(batch, index(one_a)) if of_a > 1 else index(0),
            multiply(batch, index(one_b)) if of_b > 1 else index(0),
        )

    def stored(
        self, batch: PrimExpr, row: PrimExpr, column: PrimExpr, value: PrimExpr
    ) -> Stmt:
        """Return what stores an element of the result, whatever its rank."""
        *outer, _ = self.out.shape
        if len(self.b.shape) > 2:
            return self._store((batch, row, column), value)
        places: list[PrimExpr] = []
        for length in reversed(outer[1:]):
            places.append(floormod(row, index(length)))
            row = floordiv(row, index(length))
        return self._store((row, *reversed(places), column), value)
