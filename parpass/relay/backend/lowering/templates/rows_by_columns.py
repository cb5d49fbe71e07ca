"""Rows times columns: a vector is some columns of the second factor."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.relay.backend.lowering.templates.accumulators import loaded
from parpass.relay.backend.lowering.templates.flat_loops import (
    bound_all,
    flat,
    in_chunks,
    index,
    looped,
)
from parpass.relay.backend.lowering.templates.product_nest import ProductNest
from parpass.relay.backend.lowering.templates.register_tile import best_tile
from parpass.tir.expr import Load
from parpass.tir.op import add
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Stmt, stmt_seq


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
            self.sums.each(
                r * len(counts) + at,
                lambda lane, value, r=r, at=at: self.stored(
                    batch,
                    add(row, index(r)),
                    add(add(column, index(at * self.lanes)), lane),
                    value,
                ),
                count,
            )
            for r in range(high)
            for at, count in enumerate(counts)
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
