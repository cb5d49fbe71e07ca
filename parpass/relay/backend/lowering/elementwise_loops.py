"""Loops over results whose elements do not depend on each other.

Dimensions that all accesses run through in the same way become one, and the last one is
run through in vectors, where all that is read and written there stands side by side, or
does so in blocks that are transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass.ir.node import Node, post_order
from parpass.relay.backend.lowering.access_steps import is_consecutive, reads
from parpass.relay.backend.lowering.loops import (
    INDEX,
    Loop,
    in_chunks_of,
    in_lanes,
    within_loops,
)
from parpass.relay.backend.lowering.transposed_blocks import in_transposed_blocks
from parpass.target.target import Target
from parpass.target.vector_registers import VectorRegisters
from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    Add,
    Buffer,
    BufferLoad,
    FloorDiv,
    FloorMod,
    IntImm,
    PrimExpr,
    Var,
    decl_buffer,
)
from parpass.tir.stmt import BufferStore, Stmt
from parpass.tir.stmt_expr_functor import StmtExprMutator
from parpass.tir.stmt_functor import substitute

_MOST_LANES = 16


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
    if not loops or not all(one.extent for one in loops):
        return within_loops(loops, stmt)
    if is_consecutive(stmt, loops[-1].var):
        stmt = _in_vectors(stmt, loops.pop(), target)
        return within_loops(loops, stmt)
    return in_transposed_blocks(stmt, loops) or within_loops(loops, stmt)


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
    last = len(loops) - 1
    for at in reversed(range(len(loops))):
        split = _split(stmt, loops[at])
        # In the last one vectors would end where the inner loop does.
        if split and (at < last or is_consecutive(split[0], split[1][-1].var)):
            stmt, loops[at : at + 1] = split
    for at in reversed(range(len(loops) - 1)):
        joined = _joined(stmt, *loops[at : at + 2])
        if joined is not None:
            stmt, loops[at : at + 2] = joined[0], [joined[1]]
    return stmt, loops


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

    None where it is not, or by several numbers.
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
    return None if reads(new, outer.var, inner.var) else (new, both)


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
