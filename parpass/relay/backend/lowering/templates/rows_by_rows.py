"""Rows times rows, as `nn.dense` has them: a vector is a part of a row.

A tile of results is some rows of each factor. The lanes of a sum are added at the end,
halves first.
"""

from __future__ import annotations

import math

from parpass.relay.backend.lowering.templates.accumulators import loaded
from parpass.relay.backend.lowering.templates.flat_loops import (
    Memory,
    bound_all,
    flat,
    in_chunks,
    index,
    looped,
    nested,
)
from parpass.relay.backend.lowering.templates.product_nest import ProductNest
from parpass.tir.op import add, multiply
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Stmt, stmt_seq

_WIDEST = 8  # rows of the second factor that are read at once


class RowsByRows(ProductNest):
    """Rows times rows."""

    def stmt(self) -> Stmt:
        """Return the loops."""
        lengths, (rows, columns) = self.lengths, self.tile
        # Where lanes are added; the sums are registers, which have no number.
        self._parts = Memory("parts", self.out.dtype, (rows * columns * self.lanes,))

        def tiles(batch: PrimExpr) -> Stmt:
            return in_chunks(
                *("column", lengths.columns, columns),
                lambda column, wide: in_chunks(
                    *("row", lengths.rows, rows),
                    lambda row, high: self._results(batch, (row, column), (high, wide)),
                ),
            )

        loops = looped("batch", max(lengths.batch), tiles)
        return self.sums.within(self._parts.within(loops))

    def chosen_tile(self, registers: int) -> tuple[int, int]:
        """Return how many rows of each factor are a tile."""
        found = [
            (-high * wide / (high + wide), -wide, high)
            for high in range(1, min(self.lengths.rows, registers) + 1)
            for wide in range(1, min(self.lengths.columns, _WIDEST) + 1)
            if high * wide + wide + 1 < registers
        ]
        _, wide, high = min(found)
        return high, -wide

    def _results(
        self,
        batch: PrimExpr,
        place: tuple[PrimExpr, PrimExpr],
        size: tuple[int, int],
    ) -> Stmt:
        """Return what computes a tile of results and stores them."""
        lanes, count = self.lanes, math.prod(size)
        products = in_chunks(
            *("inner", self.lengths.inner, lanes),
            lambda at, some: self._products(batch, place, size, at, some),
        )
        spread = [
            self._parts.store(index(at * lanes), self.sums[at]) for at in range(count)
        ]
        stores = nested(
            ("high", "wide"), size, lambda at: self._total(batch, place, at, size[1])
        )
        return stmt_seq(self.sums.cleared(count), products, *spread, stores)

    def _products(
        self,
        batch: PrimExpr,
        place: tuple[PrimExpr, PrimExpr],
        size: tuple[int, int],
        at: PrimExpr,
        some: int,
    ) -> Stmt:
        """Return the products of some elements of all rows."""
        inner, dtype = self.lengths.inner, self.out.dtype
        begins = [
            add(begin, flat((first, at), (1, inner)))
            for begin, first in zip(self.begins(batch), place, strict=True)
        ]

        def products(starts: list[PrimExpr]) -> Stmt:
            rows_a, rows_b = (
                [
                    loaded(
                        *(dtype, source.buffer.data, add(start, index(row * inner))),
                        *(self.lanes, 1, some),
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

    def _total(
        self,
        batch: PrimExpr,
        place: tuple[PrimExpr, PrimExpr],
        at: tuple[PrimExpr, ...],
        wide: int,
    ) -> Stmt:
        """Return what adds the lanes of a sum, and stores that."""
        lanes = self.lanes
        begin = multiply(flat(at, (1, wide)), index(lanes))
        row, column = (add(first, more) for first, more in zip(place, at, strict=True))
        load, halves = self._parts.load, list[Stmt]()
        while lanes > 1:
            lanes //= 2
            other = load(add(begin, index(lanes)), lanes)
            halves.append(self._parts.store(begin, add(load(begin, lanes), other)))
        return stmt_seq(*halves, self.stored(batch, row, column, load(begin)))
