"""Which region of a buffer a statement reads or writes."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from parpass.ir.node import Node
from parpass.tir.arith.analyzer import Analyzer
from parpass.tir.arith.int_set import IntSet, union
from parpass.tir.arith.sets.interval_set import IntervalSet
from parpass.tir.buffer import Buffer, BufferLoad
from parpass.tir.expr import Var
from parpass.tir.iteration import IterVar, Range
from parpass.tir.op import add, const, subtract
from parpass.tir.stmt import AttrStmt, BufferStore, For, LetStmt, Stmt
from parpass.tir.stmt_expr_functor import StmtExprVisitor


def domain_touched(
    stmt: Stmt, buffer: Buffer, consider_loads: bool, consider_stores: bool
) -> list[Range | None]:
    """Return the least region, a box, that has all elements that a statement accesses.

    Args:
        stmt: The statement.
        buffer: The buffer.
        consider_loads: Whether reading is to be counted.
        consider_stores: Whether writing is to be counted.

    Returns:
        A range of indices for each dimension, None for all; an empty list if the buffer
        is not accessed.
    """
    found = _BufferTouchedDomain(buffer, consider_loads, consider_stores)
    found.visit(stmt)
    analyzer = Analyzer()
    return [_range(analyzer, union(sets)) for sets in zip(*found.touched, strict=True)]


def _range(analyzer: Analyzer, found: IntervalSet) -> Range | None:
    if not (found.has_lower_bound() and found.has_upper_bound()):
        return None
    low, high = found.min_value, found.max_value
    extent = subtract(add(high, const(1, high.dtype)), low)
    return Range.from_min_extent(low, analyzer.simplify(extent))


class _BufferTouchedDomain(StmtExprVisitor):
    """Finds the sets that indices are in, by those of the variables around them."""

    def __init__(self, buffer: Buffer, loads: bool, stores: bool) -> None:
        super().__init__()
        self._buffer = buffer
        self._loads, self._stores = loads, stores
        self._domain: dict[Var, IntervalSet] = {}
        self._analyzer = Analyzer()
        self.touched: list[list[IntervalSet]] = []

    def _inside(
        self, op: Node, var: Var, values: IntervalSet
    ) -> Generator[Any, None, None]:
        self._domain[var] = values
        yield from self.visit_children(op)
        del self._domain[var]

    def visit_for_(self, op: For) -> Any:
        """Know the range of the variable."""
        values = IntSet.from_min_extent(op.min, op.extent)
        yield from self._inside(op, op.loop_var, values)

    def visit_let_stmt_(self, op: LetStmt) -> Any:
        """Know what the variable may be."""
        values = self._analyzer.int_set(op.value, self._domain)
        yield from self._inside(op, op.var, values)

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Know the range of an axis of threads."""
        axis: Any = op.node
        if op.attr_key == "thread_extent" and isinstance(axis, IterVar):
            values = IntSet.from_min_extent(const(0, op.value.dtype), op.value)
            yield from self._inside(op, axis.var, values)
        else:
            yield from self.visit_children(op)

    def visit_buffer_load_(self, op: BufferLoad) -> Any:
        """Count a load, and those in its indices."""
        if self._loads and op.buffer is self._buffer:
            self._touch(op.indices)
        yield from self.visit_children(op)

    def visit_buffer_store_(self, op: BufferStore) -> Any:
        """Count a store, and the loads in it."""
        if self._stores and op.buffer is self._buffer:
            self._touch(op.indices)
        yield from self.visit_children(op)

    def _touch(self, indices: Any) -> None:
        domain = self._domain
        self.touched.append([self._analyzer.int_set(one, domain) for one in indices])
