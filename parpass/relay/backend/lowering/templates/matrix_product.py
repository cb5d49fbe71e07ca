"""Templates of matrix products: `nn.dense`, `nn.matmul` and `nn.batch_matmul`.

A tile of results is some rows of each factor. Rows times columns, a vector holds some
columns of the second factor. Rows times rows, as in `nn.dense`, a vector holds a part
of a row; the lanes of a sum are added at the end, halves first. Rows of ints of 8 or 16
bits are multiplied as ints of 16 bits, two to a lane of the sums, which are int32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from parpass.relay.backend.lowering.rule_registry import (
    OpCall,
    Store,
    register_template,
)
from parpass.relay.backend.lowering.sources import in_dtype
from parpass.relay.backend.lowering.templates.accumulators import (
    Accumulators,
    best_tile,
    lanes_tile,
    loaded,
)
from parpass.relay.backend.lowering.templates.flat_loops import (
    bound_all,
    flat,
    in_chunks,
    in_memory,
    index,
    looped,
    suits_products,
    vector,
)
from parpass.target.vector_registers import VectorRegisters
from parpass.tir.expr import Load, PrimExpr
from parpass.tir.op import add, cast_to, floordiv, floormod, multiply
from parpass.tir.stmt import Stmt, stmt_seq


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
        call: The call; its operands are the factors.
        store: What is done with results.
    """

    def __init__(
        self, lengths: ProductLengths, call: OpCall[Any], store: Store
    ) -> None:
        self.lengths, self._store, self.out = lengths, store, call.out
        self.a, self.b = call.sources
        registers = VectorRegisters.of(call.target)
        self.lanes = registers.lanes(self.out.dtype)
        self.factor = "int16" if self.a.dtype in _NARROW_INTS else self.a.dtype
        self.factor_lanes = registers.lanes(self.factor)
        self.tile = self.chosen_tile(registers.number)
        count = self.tile[0] * self.tile[1]
        self.sums = Accumulators(count, self.lanes, self.out.dtype)

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

    def stored_row(
        self, batch: PrimExpr, row: PrimExpr, column: PrimExpr, sums: tuple[int, int]
    ) -> list[Stmt]:
        """Return what stores neighbours of a row of the result.

        Args:
            batch: The product.
            row: The row.
            column: The first of them.
            sums: The first sum whose lanes they are, and how many there are.
        """
        first, count = sums
        return [
            self.sums.each(
                first + at // self.lanes,
                lambda lane, value, at=at: self.stored(
                    batch, row, add(add(column, index(at)), lane), value
                ),
                min(self.lanes, count - at),
            )
            for at in range(0, count, self.lanes)
        ]

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


class RowsByColumns(ProductNest):
    """Rows times columns."""

    def stmt(self) -> Stmt:
        """Return the loops."""
        lengths, (rows, vectors) = self.lengths, self.tile

        def tiles(batch: PrimExpr) -> Stmt:
            return in_chunks(
                *("column", lengths.columns, vectors * self.lanes),
                lambda column, wide: in_chunks(
                    *("row", lengths.rows, rows),
                    lambda row, high: self._results(batch, (row, column), (high, wide)),
                ),
            )

        return self.sums.within(looped("batch", max(lengths.batch), tiles))

    def chosen_tile(self, registers: int) -> tuple[int, int]:
        """Return how many rows, and vectors of columns, are a tile."""
        rows, columns = self.lengths.rows, self.lengths.columns
        vectors, rest = -(-columns // self.lanes), columns % self.lanes
        return best_tile(rows, vectors, registers, last_is_shorter=rest > 0)

    def _results(
        self,
        batch: PrimExpr,
        place: tuple[PrimExpr, PrimExpr],
        size: tuple[int, int],
    ) -> Stmt:
        """Return what computes a tile of results and stores them."""
        (row, column), (high, wide) = place, size
        counts = [min(self.lanes, wide - at) for at in range(0, wide, self.lanes)]
        products = looped(
            "inner",
            self.lengths.inner,
            lambda at: self._products(batch, place, high, counts, at),
        )
        stores = [
            one
            for r in range(high)
            for one in self.stored_row(
                *(batch, add(row, index(r)), column, (r * len(counts), wide))
            )
        ]
        cleared = self.sums.cleared(high * len(counts))
        return stmt_seq(cleared, products, *stores)

    def _products(
        self,
        batch: PrimExpr,
        place: tuple[PrimExpr, PrimExpr],
        high: int,
        counts: Sequence[int],
        at: PrimExpr,
    ) -> Stmt:
        """Return the products of an element of each row and a row of columns."""
        row, column = place
        lengths, dtype = self.lengths, self.out.dtype
        of_a, of_b = self.begins(batch)
        a, b = self.a.buffer, self.b.buffer
        assert a is not None
        assert b is not None

        def products(starts: list[PrimExpr]) -> Stmt:
            first, first_b = starts
            scalars = [
                Load(dtype, a.data, add(first, index(r * lengths.inner)))
                for r in range(high)
            ]
            vectors = [
                loaded(
                    *(dtype, b.data, add(first_b, index(number * self.lanes))),
                    *(self.lanes, 1, count),
                )
                for number, count in enumerate(counts)
            ]
            return self.sums.add_outer_product(scalars, vectors)

        begins = (
            add(of_a, flat((row, at), (1, lengths.inner))),
            add(of_b, flat((at, column), (1, lengths.columns))),
        )
        return bound_all("at", begins, products)


class RowsByRows(ProductNest):
    """Rows times rows."""

    def stmt(self) -> Stmt:
        """Return the loops."""
        lengths, (rows, columns) = self.lengths, self.tile

        def tiles(batch: PrimExpr) -> Stmt:
            return in_chunks(
                *("column", lengths.columns, columns),
                lambda column, wide: in_chunks(
                    *("row", lengths.rows, rows),
                    lambda row, high: self._results(batch, (row, column), (high, wide)),
                ),
            )

        return self.sums.within(looped("batch", max(lengths.batch), tiles))

    def chosen_tile(self, registers: int) -> tuple[int, int]:
        """Return how many rows of each factor are a tile."""
        return lanes_tile(self.lengths.rows, self.lengths.columns, registers)

    def _results(
        self,
        batch: PrimExpr,
        place: tuple[PrimExpr, PrimExpr],
        size: tuple[int, int],
    ) -> Stmt:
        """Return what computes a tile of results and stores them."""
        high, wide = size
        products = in_chunks(
            *("inner", self.lengths.inner, self.factor_lanes),
            lambda at, some: self._products(batch, place, size, at, some),
        )
        parts = [self.sums.cleared(high * wide), products]
        for r in range(high):
            parts.append(self.sums.add_lanes(r * wide, wide))
            row = add(place[0], index(r))
            parts += self.stored_row(batch, row, place[1], (r * wide, wide))
        return stmt_seq(*parts)

    def _products(
        self,
        batch: PrimExpr,
        place: tuple[PrimExpr, PrimExpr],
        size: tuple[int, int],
        at: PrimExpr,
        some: int,
    ) -> Stmt:
        """Return the products of some elements of all rows."""
        inner, lanes = self.lengths.inner, self.factor_lanes
        factor = vector(self.factor, lanes)
        begins = [
            add(begin, flat((first, at), (1, inner)))
            for begin, first in zip(self.begins(batch), place, strict=True)
        ]

        def products(starts: list[PrimExpr]) -> Stmt:
            rows_a, rows_b = (
                [
                    cast_to(
                        loaded(
                            *(source.dtype, source.buffer.data),
                            *(add(start, index(row * inner)), lanes, 1, some),
                        ),
                        factor,
                    )
                    for row in range(count)
                ]
                for source, start, count in zip(
                    (self.a, self.b), starts, size, strict=True
                )
                if source.buffer is not None
            )
            return self.sums.add_outer_product(rows_a, rows_b)

        return bound_all("at", begins, products)


_NARROW_INTS = {"int8", "uint8", "int16"}


def _with_wide_ints(call: OpCall[Any]) -> OpCall[Any]:
    """Return a call whose result is int32 with factors that are as well."""
    narrow = {one.dtype for one in call.sources} <= _NARROW_INTS
    if call.out.dtype != "int32" or not narrow:
        return call
    return call._replace(sources=[in_dtype(one, "int32") for one in call.sources])


@register_template("nn.dense", "nn.matmul", "nn.batch_matmul", level=20)
def matrix_product(call: OpCall[Any], store: Store) -> Stmt | None:
    """Multiply matrices; the first factor has its rows as rows."""
    wide = _with_wide_ints(call)
    if not suits_products(wide):
        return None
    a, b = call.sources
    if call.attrs.get("transpose_a", False) or len(a.shape) < 2:
        return None
    by_rows = call.attrs.get("transpose_b", True)
    inner, columns = b.shape[:-3:-1] if by_rows else b.shape[-2:]
    batches = (math.prod(a.shape[:-2]), math.prod(b.shape[:-2]))
    if len(b.shape) == 2:  # one weight for all rows
        lengths = ProductLengths((1, 1), math.prod(a.shape[:-1]), inner, columns)
    else:
        lengths = ProductLengths(batches, a.shape[-2], inner, columns)
    if not by_rows:
        return in_memory(wide, lambda new: RowsByColumns(lengths, new, store).stmt())
    return in_memory(call, lambda new: RowsByRows(lengths, new, store).stmt())
