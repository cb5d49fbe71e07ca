"""Matrix products: of rows with rows, as `nn.dense` has them, or of rows with columns.

Where both factors have the common dimension last, a vector is a part of a row, and a
tile of results is some rows of each. The lanes of a sum are added at the end, halves
first. Where the second factor has its columns last, a vector is some of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from parpass.relay.backend.lowering.template import (
    Result,
    Source,
    Store,
    register_template,
)
from parpass.relay.backend.lowering.templates.accumulators import Accumulators, loaded
from parpass.relay.backend.lowering.templates.flat_loops import (
    Memory,
    bound_all,
    flat,
    in_chunks,
    index,
    looped,
    nested,
)
from parpass.relay.backend.lowering.templates.flat_operands import (
    is_flat,
    suits_vectors,
)
from parpass.relay.backend.lowering.templates.register_tile import best_tile
from parpass.target.target import Target
from parpass.target.vector_registers import VectorRegisters
from parpass.tir.expr import Load
from parpass.tir.op import add, floordiv, floormod, multiply
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Stmt, stmt_seq

_WIDEST = 8  # rows of the second factor that are read at once


class _Lengths(NamedTuple):
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


@register_template("nn.dense", "nn.matmul", "nn.batch_matmul", level=20)
def matrix_product(
    attrs: Any, sources: Sequence[Source], out: Result, store: Store, target: Target
) -> Stmt | None:
    """Multiply matrices of floats; the first factor has its rows as rows."""
    a, b = sources
    if not (is_flat(a) and is_flat(b) and suits_vectors(sources, out)):
        return None
    if attrs.get("transpose_a", False) or len(a.shape) < 2:
        return None
    by_rows = attrs.get("transpose_b", True)
    inner, columns = b.shape[:-3:-1] if by_rows else b.shape[-2:]
    batches = (math.prod(a.shape[:-2]), math.prod(b.shape[:-2]))
    if len(b.shape) == 2:  # one weight for all rows
        lengths = _Lengths((1, 1), math.prod(a.shape[:-1]), inner, columns)
    else:
        lengths = _Lengths(batches, a.shape[-2], inner, columns)
    if not (inner and columns and lengths.rows and all(batches)):
        return None
    kind = _OfRows if by_rows else _OfColumns
    return kind(lengths, sources, out, store, target).stmt()


class _Product:
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
        lengths: _Lengths,
        sources: Sequence[Source],
        out: Result,
        store: Store,
        target: Target,
    ) -> None:
        self._lengths, self._store, self._out = lengths, store, out
        self._a, self._b = sources
        registers = VectorRegisters.of(target)
        self._lanes = registers.lanes(out.dtype)
        self._tile = self._chosen(registers.number)
        count = self._tile[0] * self._tile[1]
        self._sums = Accumulators(count, self._lanes, out.dtype)

    def _chosen(self, registers: int) -> tuple[int, int]:
        """Return how many rows and vectors are a tile."""
        raise NotImplementedError

    def _begins(self, batch: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """Return where the matrices of a product begin."""
        of_a, of_b = self._lengths.batch
        one_a = self._lengths.rows * self._lengths.inner
        one_b = self._lengths.inner * self._lengths.columns
        return (
            multiply(batch, index(one_a)) if of_a > 1 else index(0),
            multiply(batch, index(one_b)) if of_b > 1 else index(0),
        )

    def _stored(
        self, batch: PrimExpr, row: PrimExpr, column: PrimExpr, value: PrimExpr
    ) -> Stmt:
        """Return what stores an element of the result, whatever its rank."""
        *outer, _ = self._out.shape
        if len(self._b.shape) > 2:
            return self._store((batch, row, column), value)
        places: list[PrimExpr] = []
        for length in reversed(outer[1:]):
            places.append(floormod(row, index(length)))
            row = floordiv(row, index(length))
        return self._store((row, *reversed(places), column), value)


class _OfRows(_Product):
    """Rows times rows."""

    def stmt(self) -> Stmt:
        """Return the loops."""
        lengths, (rows, columns) = self._lengths, self._tile
        # Where lanes are added; the sums are registers, which have no number.
        self._parts = Memory("parts", self._out.dtype, (rows * columns * self._lanes,))

        def tiles(batch: PrimExpr) -> Stmt:
            return in_chunks(
                *("column", lengths.columns, columns),
                lambda column, wide: in_chunks(
                    *("row", lengths.rows, rows),
                    lambda row, high: self._results(batch, (row, column), (high, wide)),
                ),
            )

        loops = looped("batch", max(lengths.batch), tiles)
        return self._sums.within(self._parts.within(loops))

    def _chosen(self, registers: int) -> tuple[int, int]:
        found = [
            (-high * wide / (high + wide), -wide, high)
            for high in range(1, min(self._lengths.rows, registers) + 1)
            for wide in range(1, min(self._lengths.columns, _WIDEST) + 1)
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
        lanes, count = self._lanes, math.prod(size)
        products = in_chunks(
            *("inner", self._lengths.inner, lanes),
            lambda at, some: self._products(batch, place, size, at, some),
        )
        spread = [
            self._parts.store(index(at * lanes), self._sums[at]) for at in range(count)
        ]
        stores = nested(
            ("high", "wide"), size, lambda at: self._total(batch, place, at, size[1])
        )
        return stmt_seq(self._sums.cleared(count), products, *spread, stores)

    def _products(
        self,
        batch: PrimExpr,
        place: tuple[PrimExpr, PrimExpr],
        size: tuple[int, int],
        at: PrimExpr,
        some: int,
    ) -> Stmt:
        """Return the products of some elements of all rows."""
        inner, dtype = self._lengths.inner, self._out.dtype
        begins = [
            add(begin, flat((first, at), (1, inner)))
            for begin, first in zip(self._begins(batch), place, strict=True)
        ]

        def products(starts: list[PrimExpr]) -> Stmt:
            rows_a, rows_b = (
                [
                    loaded(
                        *(dtype, source.buffer.data, add(start, index(row * inner))),
                        *(self._lanes, 1, some),
                    )
                    for row in range(count)
                ]
                for source, start, count in zip(
                    (self._a, self._b), starts, size, strict=True
                )
                if source.buffer is not None
            )
            return self._sums.add_outer_product(rows_a, rows_b)

        return bound_all("at", begins, products)

    def _total(
        self,
        batch: PrimExpr,
        place: tuple[PrimExpr, PrimExpr],
        at: tuple[PrimExpr, ...],
        wide: int,
    ) -> Stmt:
        """Return what adds the lanes of a sum, and stores that."""
        lanes = self._lanes
        begin = multiply(flat(at, (1, wide)), index(lanes))
        row, column = (add(first, more) for first, more in zip(place, at, strict=True))
        load, halves = self._parts.load, list[Stmt]()
        while lanes > 1:
            lanes //= 2
            other = load(add(begin, index(lanes)), lanes)
            halves.append(self._parts.store(begin, add(load(begin, lanes), other)))
        return stmt_seq(*halves, self._stored(batch, row, column, load(begin)))


class _OfColumns(_Product):
    """Rows times columns."""

    def stmt(self) -> Stmt:
        """Return the loops."""
        lengths, (rows, vectors) = self._lengths, self._tile

        def tiles(batch: PrimExpr) -> Stmt:
            return in_chunks(
                *("column", lengths.columns, vectors * self._lanes),
                lambda column, wide: in_chunks(
                    *("row", lengths.rows, rows),
                    lambda row, high: self._results(batch, (row, column), (high, wide)),
                ),
            )

        return self._sums.within(looped("batch", max(lengths.batch), tiles))

    def _chosen(self, registers: int) -> tuple[int, int]:
        vectors = -(-self._lengths.columns // self._lanes)
        return best_tile(self._lengths.rows, vectors, registers)

    def _results(
        self,
        batch: PrimExpr,
        place: tuple[PrimExpr, PrimExpr],
        size: tuple[int, int],
    ) -> Stmt:
        """Return what computes a tile of results and stores them."""
        (row, column), (high, wide) = place, size
        counts = [min(self._lanes, wide - at) for at in range(0, wide, self._lanes)]
        products = looped(
            "inner",
            self._lengths.inner,
            lambda at: self._products(batch, place, high, counts, at),
        )
        stores = [
            self._sums.each(
                r * len(counts) + at,
                lambda lane, value, r=r, at=at: self._stored(
                    batch,
                    add(row, index(r)),
                    add(add(column, index(at * self._lanes)), lane),
                    value,
                ),
                count,
            )
            for r in range(high)
            for at, count in enumerate(counts)
        ]
        cleared = self._sums.cleared(high * len(counts))
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
        lengths, dtype = self._lengths, self._out.dtype
        of_a, of_b = self._begins(batch)
        a, b = self._a.buffer, self._b.buffer
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
                    *(dtype, b.data, add(first_b, index(number * self._lanes))),
                    *(self._lanes, 1, count),
                )
                for number, count in enumerate(counts)
            ]
            return self._sums.add_outer_product(scalars, vectors)

        begins = (
            add(of_a, flat((row, at), (1, lengths.inner))),
            add(of_b, flat((at, column), (1, lengths.columns))),
        )
        return bound_all("at", begins, products)
