"""Loops over results whose elements do not depend on each other.

Dimensions that all accesses run through in the same way become one, and the last one is
run through in vectors, where all that is read and written there stands side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from parpass.ir.node import Node, post_order
from parpass.ir.op.op_table import Op
from parpass.target.target import Target
from parpass.target.vector_registers import LONGEST_STRIDE, VectorRegisters
from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    Add,
    Buffer,
    BufferLoad,
    Call,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    PrimExpr,
    Sub,
    Var,
    decl_buffer,
)
from parpass.tir.stmt import BufferStore, For, ForKind, Stmt, stmt_seq
from parpass.tir.stmt_expr_functor import StmtExprMutator
from parpass.tir.stmt_functor import substitute

INDEX = "int64"  # which LLVM may take apart, since it does not wrap around
_MOST_LANES = 16


class Loop(NamedTuple):
    """A loop over 0 to below an extent."""

    var: Var
    extent: int


def elementwise_nest(
    shape: Sequence[int], body: Callable[[list[PrimExpr]], Stmt], target: Target
) -> Stmt:
    """Return loops over all indices of a shape, in the order of memory.

    Args:
        shape: The length of each dimension.
        body: Returns what is done, by indices: stores, in whatever order.
        target: The machine; its registers say how long vectors are.
    """
    stmt, loops = joined_loops(shape, body)
    if loops and loops[-1].extent and is_consecutive(stmt, loops[-1].var):
        stmt = _in_vectors(stmt, loops.pop(), target)
    return within_loops(loops, stmt)


def joined_loops(
    shape: Sequence[int], body: Callable[[list[PrimExpr]], Stmt]
) -> tuple[Stmt, list[Loop]]:
    """Return what is done for all indices of a shape, and the loops that it needs.

    Those that all accesses run through in the same way are one.
    """
    loops: list[Loop] = []
    indices: list[PrimExpr] = []
    for at, dim in enumerate(shape):
        if dim == 1:
            indices.append(IntImm(INDEX, 0))
        else:
            loops.append(Loop(Var(f"i{at}", INDEX), dim))
            indices.append(loops[-1].var)
    stmt = body(indices)
    split = _split(stmt, loops[-1]) if loops else None
    if split is not None:
        stmt, loops[-1:] = split
    for at in reversed(range(len(loops) - 1)):
        joined = _joined(stmt, *loops[at : at + 2])
        if joined is not None:
            stmt, loops[at : at + 2] = joined[0], [joined[1]]
    return stmt, loops


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


def _in_vectors(stmt: Stmt, loop: Loop, target: Target) -> Stmt:
    """Return a loop whose rounds are run several at once, a shorter vector behind."""

    def vector(begin: PrimExpr, count: int) -> Stmt:
        return in_lanes(
            count, lambda lane: substitute(stmt, {loop.var: op.add(begin, lane)})
        )

    return in_chunks_of(loop, min(vector_lanes(stmt, target), loop.extent), vector)


def vector_lanes(stmt: Stmt, target: Target) -> int:
    """Return how many elements of what is stored are a vector."""
    bits = [
        max(data_type(one.buffer.dtype).bits, 8)
        for one in post_order(stmt)
        if isinstance(one, BufferStore)
    ]
    return min(VectorRegisters.of(target).bits // max(bits), _MOST_LANES)


def _split(stmt: Stmt, loop: Loop) -> tuple[Stmt, list[Loop]] | None:
    """Return a loop as two, where its variable is divided, so that it no longer is.

    None where it is not, or by several numbers, or the inner loop would not be of
    neighbours.
    """
    divided = [
        one
        for one in post_order(stmt)
        if isinstance(one, FloorDiv | FloorMod) and one.a is loop.var
    ]
    lengths = {one.b.value for one in divided if isinstance(one.b, IntImm)}
    if len(lengths) != 1 or any(loop.extent % length for length in lengths):
        return None
    (length,) = lengths
    outer, inner = (Var(loop.var.name, INDEX) for _ in range(2))
    parts = _InParts(loop.var, outer, inner, op.add(op.multiply(outer, length), inner))
    new = parts.visit(stmt)
    assert isinstance(new, Stmt)
    if not is_consecutive(new, inner):
        return None
    return new, [Loop(outer, loop.extent // length), Loop(inner, length)]


class _InParts(StmtExprMutator):
    """Replaces a variable by its quotient and its rest, where it is divided."""

    def __init__(self, var: Var, outer: Var, inner: Var, both: PrimExpr) -> None:
        super().__init__()
        self._var, self._outer, self._inner, self._both = var, outer, inner, both

    def visit_var_(self, op: Var) -> Node:
        return self._both if op is self._var else op

    def visit_floor_div_(self, op: FloorDiv) -> Node:
        return self._outer if op.a is self._var else self.visit_default(op)

    def visit_floor_mod_(self, op: FloorMod) -> Node:
        return self._inner if op.a is self._var else self.visit_default(op)


def _joined(stmt: Stmt, outer: Loop, inner: Loop) -> tuple[Stmt, Loop] | None:
    """Return what two loops do as one; None where some access needs to know both."""
    both = Loop(Var(outer.var.name, INDEX), outer.extent * inner.extent)
    new = _InOneLoop(outer, inner, both.var).visit(stmt)
    assert isinstance(new, Stmt)
    return None if _reads(new, outer.var, inner.var) else (new, both)


def _reads(node: Node, *variables: Var) -> bool:
    return any(one in variables for one in post_order(node))


class AccessMutator(StmtExprMutator):
    """Rewrites where elements are read and written; override `place`."""

    def place(
        self, buffer: Buffer, indices: Sequence[PrimExpr]
    ) -> tuple[Buffer, Sequence[PrimExpr]]:
        """Return what is accessed instead."""
        raise NotImplementedError

    def visit_buffer_load_(self, op: BufferLoad) -> Node:
        indices: Any = [self.visit(one) for one in op.indices]
        return BufferLoad(*self.place(op.buffer, indices))

    def visit_buffer_store_(self, op: BufferStore) -> Node:
        indices: Any = [self.visit(one) for one in op.indices]
        value: Any = self.visit(op.value)
        buffer, indices = self.place(op.buffer, indices)
        return BufferStore(buffer, value, indices)


class _InOneLoop(AccessMutator):
    """Has accesses use one variable in the place of two, as far as they can."""

    def __init__(self, outer: Loop, inner: Loop, both: Var) -> None:
        super().__init__()
        self._outer = outer
        self._inner = inner
        self._both = both
        self._views: dict[tuple[Buffer, int], Buffer] = {}

    def place(
        self, buffer: Buffer, indices: Sequence[PrimExpr]
    ) -> tuple[Buffer, Sequence[PrimExpr]]:
        unchanged = buffer, indices
        shape = [getattr(dim, "value", 0) for dim in buffer.shape]
        at = next((n for n, one in enumerate(indices) if one is self._inner.var), 0)
        before = [n for n in range(at) if shape[n] != 1]
        if not before or shape[at] != self._inner.extent or buffer.strides:
            return unchanged
        more = _above(indices[before[-1]], self._outer.var)
        if more is None:
            return unchanged
        joined = op.add(self._both, more * self._inner.extent)
        view = self._view(buffer, before[-1], at)
        return view, [*indices[: before[-1]], joined, *indices[at + 1 :]]

    def _view(self, buffer: Buffer, first: int, last: int) -> Buffer:
        """Return the same memory with some dimensions as one."""
        key = buffer, first
        if key not in self._views:
            whole: PrimExpr = IntImm(buffer.index_dtype, 1)
            for dim in buffer.shape[first : last + 1]:
                whole = op.multiply(whole, dim)
            shape = [*buffer.shape[:first], whole, *buffer.shape[last + 1 :]]
            dtype, name = buffer.dtype, buffer.name
            self._views[key] = decl_buffer(shape, dtype, name, buffer.data)
        return self._views[key]


def _above(expr: PrimExpr, var: Var) -> int | None:
    """Return how much more than a variable an expression is; None if it is no sum."""
    if expr is var:
        return 0
    if isinstance(expr, Add):
        for one, other in ((expr.a, expr.b), (expr.b, expr.a)):
            if one is var and isinstance(other, IntImm):
                return other.value
    return None


def is_consecutive(stmt: Stmt, var: Var) -> bool:
    """Return whether a variable counts neighbours in memory, and nothing else.

    What is read may be a few elements apart.
    """
    calls = (one for one in post_order(stmt) if isinstance(one, Call))
    names = {one.op.name for one in calls if isinstance(one.op, Op)}
    if "tir.if_then_else" in names:
        return False
    return not _reads(_OfNeighbours(var).visit(stmt), var)


class _OfNeighbours(StmtExprMutator):
    """Has accesses that go through neighbours, by a variable, use 0 in its place."""

    def __init__(self, var: Var) -> None:
        super().__init__()
        self._var = var

    def visit_buffer_load_(self, op: BufferLoad) -> Node:
        indices = self._without_steps(op.indices, LONGEST_STRIDE)
        return self.visit_default(BufferLoad(op.buffer, indices))

    def visit_buffer_store_(self, op: BufferStore) -> Node:
        indices = self._without_steps(op.indices, 1)
        return self.visit_default(BufferStore(op.buffer, op.value, indices))

    def _without_steps(
        self, indices: Sequence[PrimExpr], longest: int
    ) -> Sequence[PrimExpr]:
        if indices and 1 <= _step(indices[-1], self._var) <= longest:
            return [*indices[:-1], IntImm(INDEX, 0)]
        return indices


def _step(expr: PrimExpr, var: Var) -> int:
    """Return by how much an index grows with a variable; 0 for no constant, or none."""
    if isinstance(expr, Add | Sub) and not _reads(expr.b, var):
        return _step(expr.a, var)
    if isinstance(expr, Add) and not _reads(expr.a, var):
        return _step(expr.b, var)
    if isinstance(expr, Mul) and isinstance(expr.b, IntImm):
        return _step(expr.a, var) * expr.b.value
    return 1 if expr is var else 0
