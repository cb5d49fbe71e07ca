"""Loops of reductions, such as sums: an associative operator joins elements to one.

The order is not promised, so vectors are joined lane by lane. Where the elements of a
result are neighbours in memory, halves of the vector are joined in the end. Where
neighbouring results are of neighbouring elements, each lane is a result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from parpass.relay.backend.lowering.access_steps import is_consecutive
from parpass.relay.backend.lowering.elementwise_loops import (
    AccessMutator,
    joined_loops,
    vector_lanes,
)
from parpass.relay.backend.lowering.loops import (
    INDEX,
    Loop,
    accumulated_together,
    allocated,
    in_chunks_of,
    in_lanes,
    nest,
    scratch,
    within_loops,
    zero,
)
from parpass.relay.backend.lowering.rule_registry import Indices, Result, Store
from parpass.target.target import Target
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
from parpass.tir.stmt import BufferStore, LetStmt, Stmt, stmt_seq
from parpass.tir.stmt_functor import substitute

Join = Callable[[PrimExpr, PrimExpr], PrimExpr]
_VECTORS = 4  # joined at once, since each joins what the one before has stored
_FEWEST = 4  # lanes of a vector


def accumulated(
    start: PrimExpr,
    over: Sequence[int | PrimExpr],
    element: Callable[[list[PrimExpr]], PrimExpr],
    then: Callable[[PrimExpr], Stmt],
    target: Target,
    join: Join = op.add,
) -> Stmt:
    """Return loops that compute a reduction, and the statement that uses its result.

    Args:
        start: The neutral element of `join`.
        over: The lengths of the loops.
        element: Returns an element, by indices.
        then: Returns the statement that uses the result.
        target: The machine, which determines the length of vectors.
        join: The operator, which is associative and commutative.
    """
    lengths = [dim.value if isinstance(dim, IntImm) else dim for dim in over]
    fixed = [dim for dim in lengths if isinstance(dim, int)]
    if len(fixed) == len(over) and all(fixed):
        in_vectors = _in_one_vector(start, fixed, element, then, target, join)
        if in_vectors is not None:
            return in_vectors
    return accumulated_together(
        [start],
        over,
        lambda known, at: [join(known[0], element(at))],
        lambda known: then(known[0]),
    )


def reductions(
    out: Result,
    over: Sequence[int | PrimExpr],
    element: Callable[[Indices, Indices], PrimExpr],
    store: Store,
    target: Target,
    start: PrimExpr | None = None,
    join: Join = op.add,
) -> Stmt:
    """Return loops over a tensor whose elements are reductions.

    Args:
        out: The tensor.
        over: The lengths of the loops of each reduction.
        element: Returns what is joined, by the indices of the result and those of its
            loops: `element(at, k)`.
        store: Takes the results.
        target: The machine.
        start: The neutral element of `join`; None for 0.
        join: The operator, as for `accumulated`.
    """
    begin = zero(out.dtype) if start is None else start
    lanes = _columns_at_once(out, over, element, target)
    if lanes is None:

        def each(at: Indices) -> Stmt:
            return accumulated(
                *(begin, over, functools.partial(element, at)),
                *(functools.partial(store, at), target, join),
            )

        return nest(out.shape, each)
    sums = scratch((lanes,), out.dtype, "sums")

    def of_row(at: list[PrimExpr]) -> Stmt:
        def together(first: PrimExpr, count: int) -> Stmt:
            def place(lane: PrimExpr) -> list[PrimExpr]:
                return [*at[:-1], op.add(first, lane)]

            def joined(k: Indices) -> Stmt:
                return in_lanes(
                    count,
                    lambda lane: _joined_to(sums, lane, element(place(lane), k), join),
                )

            return stmt_seq(
                in_lanes(count, lambda lane: BufferStore(sums, begin, [lane])),
                nest(over, joined, "k"),
                in_lanes(
                    count, lambda lane: store(place(lane), BufferLoad(sums, [lane]))
                ),
            )

        row = Loop(Var("column", INDEX), out.shape[-1])
        return in_chunks_of(row, lanes, together)

    return allocated(sums, nest([*out.shape[:-1], 1], of_row))


def _joined_to(sums: Buffer, at: PrimExpr, element: PrimExpr, join: Join) -> Stmt:
    return BufferStore(sums, join(BufferLoad(sums, [at]), element), [at])


def _columns_at_once(
    out: Result,
    over: Sequence[int | PrimExpr],
    element: Callable[[Indices, Indices], PrimExpr],
    target: Target,
) -> int | None:
    """Return the number of neighbouring results in a vector; None if they cannot be."""
    lengths = [dim for dim in (*out.shape, *over) if isinstance(dim, int)]
    if not out.shape or 0 in lengths or out.shape[-1] == 1:
        return None
    if out.dtype == "bool":
        return None
    column = Var("column", INDEX)
    at = [*(Var("i", INDEX) for _ in out.shape[1:]), column]
    value = element(at, [Var("k", INDEX) for _ in over])
    one = BufferStore(scratch((1,), out.dtype, "sum"), value, [IntImm(INDEX, 0)])
    if not is_consecutive(one, column):
        return None
    return _at_once(one, out.shape[-1], target)


def _at_once(stmt: Stmt, extent: int, target: Target) -> int | None:
    """Return the lanes of a vector, a power of 2, for a loop; None for too few."""
    lanes = min(_VECTORS * vector_lanes(stmt, target), extent)
    return 1 << lanes.bit_length() - 1 if lanes >= _FEWEST else None


def _in_one_vector(
    start: PrimExpr,
    over: Sequence[int],
    element: Callable[[list[PrimExpr]], PrimExpr],
    then: Callable[[PrimExpr], Stmt],
    target: Target,
    join: Join,
) -> Stmt | None:
    """Return loops that join neighbours lane by lane, and the lanes in the end.

    Returns:
        None if elements are not neighbours, or too few.
    """
    if start.dtype == "bool":
        return None
    one = scratch((1,), start.dtype, "sum")
    stmt, loops = joined_loops(
        over, lambda at: _joined_to(one, IntImm(INDEX, 0), element(at), join)
    )
    if not loops or not is_consecutive(stmt, loops[-1].var):
        return None
    *outer, inner = loops
    lanes = _at_once(stmt, inner.extent, target)
    if lanes is None:
        return None
    sums = scratch((lanes,), start.dtype, "sums")

    def some(begin: PrimExpr, count: int) -> Stmt:
        return in_lanes(
            count,
            lambda lane: _OfLane(one, sums, lane).statement(
                substitute(stmt, {inner.var: op.add(begin, lane)})
            ),
        )

    kind = data_type(start.dtype).with_lanes(lanes)
    all_lanes = Load(kind, sums.data, Ramp(IntImm(INDEX, 0), IntImm(INDEX, 1), lanes))
    return allocated(
        sums,
        stmt_seq(
            in_lanes(lanes, lambda lane: BufferStore(sums, start, [lane])),
            within_loops(outer, in_chunks_of(inner, lanes, some)),
            _in_halves(all_lanes, join, then),
        ),
    )


def _in_halves(value: PrimExpr, join: Join, then: Callable[[PrimExpr], Stmt]) -> Stmt:
    """Join the lanes of a vector, and return the statement that uses the result."""
    lanes = data_type(value.dtype).lanes
    name = Var("lanes" if lanes > 1 else "joined", value.dtype)
    if lanes == 1:
        return LetStmt(name, value, then(name))
    low, high = (
        Shuffle((name,), tuple(IntImm(INDEX, at) for at in half))
        for half in (range(lanes // 2), range(lanes // 2, lanes))
    )
    return LetStmt(name, value, _in_halves(join(low, high), join, then))


class _OfLane(AccessMutator):
    """Replaces accesses to a sum by those to the sum of a lane."""

    def __init__(self, one: Buffer, sums: Buffer, lane: PrimExpr) -> None:
        super().__init__()
        self._one, self._sums, self._lane = one, sums, lane

    def statement(self, stmt: Stmt) -> Stmt:
        found = self.visit(stmt)
        assert isinstance(found, Stmt)
        return found

    def place(
        self, buffer: Buffer, indices: Sequence[PrimExpr]
    ) -> tuple[Buffer, Sequence[PrimExpr]]:
        return (self._sums, [self._lane]) if buffer is self._one else (buffer, indices)
