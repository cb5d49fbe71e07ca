"""Loops over results that read memory across, by square blocks, which are transposed.

What neighbouring results read is far apart then. But along another loop it is
neighbours, so of a block of both loops vectors are read, and transposed by shuffles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import Any

from parpass.ir.node import Node, post_order
from parpass.relay.backend.lowering.access_steps import is_consecutive, reads, step_of
from parpass.relay.backend.lowering.loops import (
    INDEX,
    Loop,
    allocated,
    in_lanes,
    scratch,
    within_loops,
)
from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    Buffer,
    BufferLoad,
    IntImm,
    Load,
    PrimExpr,
    Ramp,
    Shuffle,
    Var,
)
from parpass.tir.stmt import BufferStore, LetStmt, Stmt, Store, stmt_seq
from parpass.tir.stmt_expr_functor import StmtExprMutator
from parpass.tir.stmt_functor import substitute

_SIZES = (4, 8)  # of blocks
_FEWEST = 64  # elements for which a block is worth its code
_OF_ELEMENT = 2  # steps that an element outside of all blocks takes


def in_transposed_blocks(stmt: Stmt, loops: Sequence[Loop]) -> Stmt | None:
    """Return loops with what is done in all their rounds, by blocks.

    Returns:
        None if not all that the last loop reads across is neighbours along one other.
    """
    *others, last = loops
    across = _across(stmt, last.var)
    for at, loop in enumerate(others):
        if across and all(_goes_along(one, loop.var, last.var) for one in across):
            size = _best_size(loop.extent, last.extent)
            blocks = _Blocks(stmt, across, loop, last, size)
            if size and blocks.are_vectors():
                return blocks.within([*others[:at], *others[at + 1 :]])
    return None


def _across(stmt: Stmt, var: Var) -> list[BufferLoad]:
    """Return the loads that are not of neighbours, as a variable counts them."""
    loads = [one for one in post_order(stmt) if isinstance(one, BufferLoad)]
    return [
        one for one in loads if any(reads(index, var) for index in one.indices[:-1])
    ]


def _goes_along(load: BufferLoad, var: Var, other: Var) -> bool:
    """Return whether a load is of neighbours as one variable counts, not another."""
    *before, last = load.indices
    return (
        step_of(last, var) == 1
        and not reads(last, other)
        and not any(reads(index, var) for index in before)
    )


def _best_size(rows: int, columns: int) -> int:
    """Return the size of blocks by which a transposition takes fewest steps, or 0."""

    def steps(size: int) -> float:
        inside = (rows // size * size) * (columns // size * size) / (rows * columns)
        return inside * (log2(size) + 2) / size + (1 - inside) * _OF_ELEMENT

    if rows * columns < _FEWEST:
        return 0
    sizes = [size for size in _SIZES if size <= min(rows, columns)]
    return min(sizes, key=steps, default=0)


class _Blocks:
    """The blocks of two loops.

    Args:
        stmt: What is done in each round.
        across: The loads that are transposed.
        outer: The loop along which they are of neighbours.
        last: The loop along which results are neighbours.
        size: How many rounds of both a block has.
    """

    def __init__(
        self,
        stmt: Stmt,
        across: Sequence[BufferLoad],
        outer: Loop,
        last: Loop,
        size: int,
    ) -> None:
        self._stmt, self._outer, self._last, self._size = stmt, outer, last, size
        self._blocks = {
            id(one): (one, scratch((size * size,), one.buffer.dtype, "block"))
            for one in across
        }

    def are_vectors(self) -> bool:
        """Return whether all is of neighbours once these loads are of blocks."""
        return is_consecutive(self._transposed(self._last.var), self._last.var)

    def within(self, others: Sequence[Loop]) -> Stmt:
        """Return all loops."""
        outer, last, size = self._outer, self._last, self._size
        rows, columns = (one.extent // size * size for one in (outer, last))
        starts = [
            Loop(Var(one.var.name, INDEX), one.extent // size) for one in (outer, last)
        ]
        row, column = (op.multiply(one.var, size) for one in starts)
        every = [within_loops([*others, *starts[::-1]], self._block(row, column))]
        if columns < last.extent:
            rest = Loop(last.var, last.extent - columns)
            stmt = self._moved(last.var, columns)
            every.append(within_loops([*others, outer, rest], stmt))
        if rows < outer.extent:
            rest = Loop(outer.var, outer.extent - rows)
            stmt = self._moved(outer.var, rows)
            behind = [rest, last._replace(extent=columns)]
            every.append(within_loops([*others, *behind], stmt))
        return stmt_seq(*every)

    def _moved(self, var: Var, by: int) -> Stmt:
        return substitute(self._stmt, {var: op.add(var, by)}) if by else self._stmt

    def _block(self, row: PrimExpr, column: PrimExpr) -> Stmt:
        """Return what is done in a block."""
        parts = [self._filled(*one, row, column) for one in self._blocks.values()]
        within = Var("within", INDEX)

        def in_lane(lane: Var) -> Stmt:
            stmt = self._transposed(op.add(op.multiply(within, self._size), lane))
            return self._placed(stmt, op.add(row, within), op.add(column, lane))

        loop = Loop(within, self._size)
        done = within_loops([loop], in_lanes(self._size, in_lane))
        body = stmt_seq(*parts, done)
        for _, memory in self._blocks.values():
            body = allocated(memory, body)
        return body

    def _placed(self, node: Any, row: PrimExpr, column: PrimExpr) -> Any:
        """Return what is done, or computed, in one round of both loops."""
        return substitute(node, {self._outer.var: row, self._last.var: column})

    def _transposed(self, at: PrimExpr) -> Stmt:
        """Return what is done with these elements of transposed blocks."""
        blocks = {key: block for key, (_, block) in self._blocks.items()}
        found = _OfBlocks(blocks, at).visit(self._stmt)
        assert isinstance(found, Stmt)
        return found

    def _filled(
        self, load: BufferLoad, block: Buffer, row: PrimExpr, column: PrimExpr
    ) -> Stmt:
        """Return what reads a block of memory, and transposes it."""
        size = self._size

        def read(at: int) -> Stmt:
            def in_lane(lane: Var) -> Stmt:
                value = self._placed(load, op.add(row, lane), op.add(column, at))
                return BufferStore(block, value, [op.add(lane, at * size)])

            return in_lanes(size, in_lane)

        return stmt_seq(*map(read, range(size)), _transposing(block, size))


def _transposing(block: Buffer, size: int) -> Stmt:
    """Return what transposes a block, by shuffles of pairs of its rows.

    First the quarters off the diagonal change places, then those of each quarter, down
    to elements.
    """
    kind = data_type(block.dtype).with_lanes(size)
    places = [
        Ramp(IntImm(INDEX, at * size), IntImm(INDEX, 1), size) for at in range(size)
    ]
    bound: list[tuple[Var, PrimExpr]] = []

    def named(value: PrimExpr) -> Var:
        bound.append((Var("row", kind), value))
        return bound[-1][0]

    rows = [named(Load(kind, block.data, at)) for at in places]
    by = size // 2
    while by:
        for at in range(size):
            if not at & by:
                pair = rows[at], rows[at + by]
                rows[at], rows[at + by] = map(named, _exchanged(*pair, size, by))
        by //= 2
    pairs = zip(rows, places, strict=True)
    stmt = stmt_seq(*(Store(block.data, row, at) for row, at in pairs))
    for var, value in reversed(bound):
        stmt = LetStmt(var, value, stmt)
    return stmt


def _exchanged(above: Var, below: Var, size: int, by: int) -> list[Shuffle]:
    """Return two rows, of which every other `by` lanes have changed places."""
    return [
        Shuffle((above, below), tuple(IntImm(INDEX, lane) for lane in lanes))
        for lanes in (
            [lane + (size - by if lane & by else 0) for lane in range(size)],
            [lane + (size if lane & by else by) for lane in range(size)],
        )
    ]


class _OfBlocks(StmtExprMutator):
    """Replaces loads by those of an element of blocks."""

    def __init__(self, blocks: Mapping[int, Buffer], at: PrimExpr) -> None:
        super().__init__()
        self._blocks, self._at = blocks, at

    def visit_buffer_load_(self, op: BufferLoad) -> Node:
        block = self._blocks.get(id(op))
        if block is None:
            return self.visit_default(op)
        return BufferLoad(block, [self._at])
