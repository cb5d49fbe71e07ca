"""LoopPartition: splits a loop where conditions become known: before, in and after."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from msgspec import structs

from parpass.ir.node import Node, breadth_first
from parpass.ir.tir_config import LoopPartitionConfig
from parpass.tir.analysis.expr_analysis import side_effect
from parpass.tir.arith import Analyzer, IntervalSet, IntSet
from parpass.tir.arith.int_set import intersect
from parpass.tir.arith.interval_set import intersection
from parpass.tir.builtin import CallEffectKind
from parpass.tir.expr import Call, Var
from parpass.tir.iteration import Range
from parpass.tir.op import (
    add,
    const,
    greater_equal,
    less_equal,
    maximum,
    minimum,
    subtract,
)
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt import (
    AttrStmt,
    Evaluate,
    For,
    ForKind,
    SeqStmt,
    Stmt,
    stmt_list,
    stmt_seq,
)
from parpass.tir.stmt_expr_functor import StmtExprMutator, StmtMutator
from parpass.tir.stmt_functor import substitute
from parpass.tir.transform.partition_finder import (
    HINT,
    CandidateSelector,
    PartitionFinder,
    is_likely,
    thread_axis,
)
from parpass.tir.transform.ssa import convert_ssa

# How many nodes of an outermost loop, of its parts and of theirs, are gone through: a
# nest of n loops has 3**n parts, if each is cut in three.
MAX_NODES = 100_000
MAX_DEPTH = 16  # loops that are deeper in others stay whole


class _Middle(NamedTuple):
    """The part of a loop in which some conditions are known: all true, or all false."""

    values: IntervalSet
    conditions: list[PrimExpr]
    truth: bool


class _Part(NamedTuple):
    """A part of a loop, and whether it may be cut again."""

    stmt: Stmt
    again: bool


class LoopPartitioner(StmtMutator):
    """Cuts loops, the outer ones first, and then the parts.

    Args:
        config: Which loops are cut.
    """

    def __init__(self, config: LoopPartitionConfig) -> None:
        super().__init__()
        self._config = config
        self._analyzer = Analyzer()
        self._candidates: set[For] = set()
        self._hinted: set[Var] = set()
        self._hints: dict[Var, IntervalSet] = {}  # of variables around where we are
        self._relaxed: dict[Var, IntervalSet] = {}  # of axes of threads around it
        self._in_parts = 0  # of loops that were cut
        self._nodes = 0  # gone through so far

    def partitioned(self, body: Stmt) -> Stmt:
        """Return a statement with its loops in parts, and without marks and hints."""
        if not (self._config.partition_const_loop or _has_marks(body)):
            return body
        # Where a variable is bound twice, a shared loop is in two scopes.
        stmt = convert_ssa(body)
        self._select(stmt)
        new = _Unmarking().visit_stmt(self.visit_stmt(stmt))
        return body if new is stmt else convert_ssa(new)

    def _select(self, stmt: Stmt) -> None:
        selector = CandidateSelector(self._config.partition_const_loop, self._hinted)
        selector.visit(stmt)
        self._nodes += len(selector.memo_map)
        self._candidates |= selector.candidates

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Know the range of an axis of threads."""
        axis = thread_axis(op)
        if axis is None:
            return (yield from self.visit_children(op))
        values = IntSet.from_min_extent(const(0, op.value.dtype), op.value)
        # The threads of a block go through the same loops.
        of_block = axis.thread_tag.startswith("threadIdx")
        known = self._relaxed if of_block else self._hints
        known[axis.var] = values
        new = yield from self.visit_children(op)
        del known[axis.var]
        return new

    def visit_for_(self, op: For) -> Any:
        """Cut a loop, and its parts; or go into it, if it stays whole."""
        if not self._hints and not self._in_parts:
            self._nodes = 0
        parts = self._parts(op) if op in self._candidates else None
        if parts is None:
            return (yield from self._whole(op))
        new: list[Stmt] = []
        self._in_parts += 1
        for part in parts:
            if part.again:
                self._select(part.stmt)
                new.append((yield from self.visit_child(part.stmt)))
            else:
                new.append(part.stmt)
        self._in_parts -= 1
        return stmt_seq(*stmt_list(SeqStmt(new))) if new else Evaluate(0)

    def _whole(self, op: For) -> Generator[Any, Any, Stmt]:
        self._hints[op.loop_var] = IntSet.from_min_extent(op.min, op.extent)
        if not self._is_too_much():  # nobody asks the analyzer otherwise
            rounds = Range.from_min_extent(op.min, op.extent)
            self._analyzer.bind(op.loop_var, rounds, allow_override=True)
        new = yield from self.visit_children(op)
        del self._hints[op.loop_var]
        return new

    def _is_too_much(self) -> bool:
        return self._nodes > MAX_NODES or len(self._hints) > MAX_DEPTH

    def _parts(self, op: For) -> list[_Part] | None:
        """Return the parts of a loop, those that may have rounds; None for no cut."""
        # Bounds are evaluated again in the parts, which may have changed memory.
        if self._is_too_much() or not (_is_pure(op.min) and _is_pure(op.extent)):
            return None
        values = IntervalSet(op.min, _before(add(op.min, op.extent)))
        middle = self._middle(op, values)
        if middle is None:
            return None
        ends = self._ends(op, middle.values)
        if op.kind in _CONSTANT and not all(
            isinstance(one, IntImm) for one in ends[:4]
        ):
            return None  # they have to be loops of constant bounds
        start, begin, end, stop, begins_within, ends_within = ends
        prove = self._analyzer.can_prove
        parts: list[_Part] = []
        if not prove(greater_equal(start, begin)):
            parts.append(_Part(self._part(op, start, begin, op.body), begins_within))
        if not prove(greater_equal(begin, end)):
            body = _known(op.body, middle)
            parts.append(_Part(self._part(op, begin, end, body), True))
        if not prove(greater_equal(end, stop)):
            parts.append(_Part(self._part(op, end, stop, op.body), ends_within))
        return parts

    def _middle(self, op: For, values: IntervalSet) -> _Middle | None:
        """Return where conditions are known to hold; if there is none, where not to."""
        finder = PartitionFinder(
            op.loop_var,
            {**self._hints, op.loop_var: values},
            self._relaxed,
            all_conditions=op.loop_var in self._hinted,
        )
        finder.visit(op.body)
        self._nodes += len(finder.memo_map)
        for truth in (True, False):
            known = {
                condition: found
                for (condition, holds), found in finder.partitions.items()
                if holds is truth
                and not intersection(self._analyzer, found, values).is_nothing()
            }
            shared = intersect([*known.values()])
            if not shared.is_nothing():
                return _Middle(shared, [*known], truth)
        return None

    def _ends(self, op: For, middle: IntervalSet) -> tuple[Any, ...]:
        """Return where a loop starts, where its middle begins and ends, where it stops.

        Behind these stands whether the middle's begin and end are known to be within
        the loop; they are brought within it if they are not.
        """
        simplify = self._analyzer.simplify
        start, stop = simplify(op.min), simplify(add(op.min, op.extent))
        begin, begins_within = start, True
        if middle.has_lower_bound():
            begin, begins_within = self._within(middle.min_value, start, stop)
        end, ends_within = stop, True
        if middle.has_upper_bound():
            behind = add(middle.max_value, const(1, stop.dtype))
            end, ends_within = self._within(behind, begin, stop)
        return start, begin, end, stop, begins_within, ends_within

    def _within(
        self, value: PrimExpr, low: PrimExpr, high: PrimExpr
    ) -> tuple[PrimExpr, bool]:
        """Return a value that is at least `low`, and, if that is, at most `high`."""
        prove, is_known = self._analyzer.can_prove, True
        if not prove(less_equal(value, high)):
            value, is_known = minimum(value, high), False
        if not prove(greater_equal(value, low)):
            value, is_known = maximum(value, low), False
        return self._analyzer.simplify(value), is_known

    def _part(self, op: For, begin: PrimExpr, end: PrimExpr, body: Stmt) -> Stmt:
        """Return the rounds of a loop from one to before a later one."""
        extent = self._analyzer.simplify(subtract(end, begin))
        is_one = isinstance(extent, IntImm) and extent.value == 1
        if is_one and not self._config.no_unroll_loop_with_extent_one:
            return substitute(body, {op.loop_var: begin})
        var = structs.replace(op.loop_var)
        if op.loop_var in self._hinted:
            self._hinted.add(var)
        return structs.replace(
            op,
            loop_var=var,
            min=const(0, var.dtype),
            extent=extent,
            body=substitute(body, {op.loop_var: add(var, begin)}),
        )


_CONSTANT = (ForKind.VECTORIZED, ForKind.UNROLLED)  # loops of constant bounds


def _has_marks(body: Stmt) -> bool:
    """Return whether a condition is marked as likely, or a loop by a hint."""
    return any(
        is_likely(node) or (isinstance(node, AttrStmt) and node.attr_key == HINT)
        for node in breadth_first(body)
    )


def _is_pure(bound: PrimExpr) -> bool:
    return side_effect(bound) <= CallEffectKind.Pure


def _before(expr: PrimExpr) -> PrimExpr:
    return subtract(expr, const(1, expr.dtype))


def _known(body: Stmt, middle: _Middle) -> Stmt:
    """Return the body of a loop where conditions are known."""
    truth = IntImm("bool", int(middle.truth))
    knowing = StmtExprMutator()
    knowing.memo_map.update(dict.fromkeys(middle.conditions, truth))
    return knowing.visit_stmt(body)


class _Unmarking(StmtExprMutator):
    """Removes the marks of conditions, and the hints."""

    def visit_call_(self, op: Call) -> Node:
        new: Any = self.visit_default(op)
        return new.args[0] if is_likely(new) else new

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        if op.attr_key == HINT:
            return (yield from self.visit_child(op.body))
        return (yield from self.visit_children(op))
