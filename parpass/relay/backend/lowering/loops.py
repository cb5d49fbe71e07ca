"""Loops, as templates write them: over all indices of a shape, and what goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from parpass.tir import op
from parpass.tir.expr import Buffer, BufferLoad, IntImm, PrimExpr, Var, decl_buffer
from parpass.tir.expr.buffer import stored_as
from parpass.tir.stmt import Allocate, BufferStore, For, ForKind, Stmt, stmt_seq

INDEX = "int64"  # which LLVM may take apart, since it does not wrap around


class Loop(NamedTuple):
    """A loop over 0 to below an extent."""

    var: Var
    extent: int


def nest(
    shape: Sequence[int | PrimExpr],
    body: Callable[[list[PrimExpr]], Stmt],
    name: str = "i",
    kind: ForKind = ForKind.SERIAL,
) -> Stmt:
    """Return loops over all indices of a shape, the last one innermost.

    A dimension of length 1 gets no loop, but the index 0.

    Args:
        shape: The length of each dimension; an expression where it varies.
        body: Returns what is done, by indices.
        name: What the variables' names begin with.
        kind: That of the innermost loop.
    """
    lengths = [dim.value if isinstance(dim, IntImm) else dim for dim in shape]
    dtype = index_dtype([dim for dim in lengths if isinstance(dim, int)])
    indices: list[PrimExpr] = [
        IntImm(dtype, 0) if _is_one(dim) else Var(f"{name}{at}", dtype)
        for at, dim in enumerate(lengths)
    ]
    stmt = body(indices)
    for index, dim in zip(reversed(indices), reversed(lengths), strict=True):
        if isinstance(index, Var):
            extent = IntImm(dtype, dim) if isinstance(dim, int) else dim
            stmt = For(index, IntImm(dtype, 0), extent, kind, stmt)
            kind = ForKind.SERIAL
    return stmt


def within_loops(loops: Sequence[Loop], body: Stmt) -> Stmt:
    """Return loops, the first one outermost."""
    for var, extent in reversed(loops):
        body = For(var, IntImm(INDEX, 0), IntImm(INDEX, extent), ForKind.SERIAL, body)
    return body


def in_chunks_of(loop: Loop, size: int, body: Callable[[PrimExpr, int], Stmt]) -> Stmt:
    """Return a loop over whole chunks, and what is done with a shorter one behind.

    Args:
        loop: The loop over single rounds.
        size: How many of them are a chunk.
        body: Given where a chunk begins, and how many it has.
    """
    whole, rest = divmod(loop.extent, size)
    parts: list[Stmt] = []
    if whole == 1:
        parts.append(body(IntImm(INDEX, 0), size))
    elif whole:
        each = body(op.multiply(loop.var, size), size)
        parts.append(within_loops([Loop(loop.var, whole)], each))
    if rest:
        parts.append(body(IntImm(INDEX, whole * size), rest))
    return stmt_seq(*parts)


def in_lanes(count: int, body: Callable[[Var], Stmt]) -> Stmt:
    """Return a loop all of whose rounds are run at once."""
    lane = Var("lane", INDEX)
    start, end = IntImm(INDEX, 0), IntImm(INDEX, count)
    return For(lane, start, end, ForKind.VECTORIZED, body(lane))


def _is_one(dim: int | PrimExpr) -> bool:
    return isinstance(dim, int) and dim == 1


def index_dtype(shape: Sequence[int]) -> str:
    """Return the dtype of indices: as TVM has it int32, where that is enough."""
    return "int32" if math.prod(shape) < 2**31 else "int64"


def scratch(shape: Sequence[int], dtype: str, name: str) -> Buffer:
    """Return a buffer for memory of the kernel's own; see `allocated`."""
    of_index = index_dtype(shape)
    return decl_buffer([IntImm(of_index, dim) for dim in shape], dtype, name)


def allocated(buffer: Buffer, body: Stmt) -> Stmt:
    """Return a statement in which a buffer has memory."""
    extents = buffer.shape or (IntImm("int32", 1),)
    return Allocate(buffer.data, stored_as(buffer.dtype), extents, None, body)


def accumulated_together(
    starts: Sequence[PrimExpr],
    over: Sequence[int | PrimExpr],
    step: Callable[[list[PrimExpr], list[PrimExpr]], Sequence[PrimExpr]],
    then: Callable[[list[PrimExpr]], Stmt],
    name: str = "k",
) -> Stmt:
    """Return loops that accumulate values, and the statement that uses them.

    Each sees what the others were before the step or, those before it, after it.

    Args:
        starts: What they are before.
        over: The lengths of the loops.
        step: Returns what comes of the values that there are, by indices.
        then: Returns the statement that uses the last ones.
        name: What the variables' names begin with.
    """
    sums = [scratch((1,), start.dtype, f"sum{at}") for at, start in enumerate(starts)]
    known: list[PrimExpr] = [BufferLoad(one, [0]) for one in sums]

    def stored(values: Sequence[PrimExpr]) -> Stmt:
        pairs = zip(sums, values, strict=True)
        return stmt_seq(*[BufferStore(one, value, [0]) for one, value in pairs])

    stmt = stmt_seq(
        stored(starts),
        nest(over, lambda at: stored(step(known, at)), name),
        then(known),
    )
    for one in reversed(sums):
        stmt = allocated(one, stmt)
    return stmt


def zero(dtype: str) -> PrimExpr:
    """Return 0."""
    return op.const(0, dtype)


def quotient(total: PrimExpr, count: int) -> PrimExpr:
    """Return a sum divided by a number of terms, ints rounded towards zero.

    Of floats there may be no terms: a quotient by 0.0 is a product with infinity.
    """
    if not count:
        return op.multiply(total, op.const(math.inf, total.dtype))
    return op.div(total, op.const(count, total.dtype))
