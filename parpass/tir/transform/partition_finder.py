"""Analysis of loops that may be partitioned, and where their conditions are known."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, cast

from parpass.ir.node import Node, children, post_order
from parpass.ir.op_table import Op
from parpass.tir.analysis.expr_analysis import may_be_speculated
from parpass.tir.arith import Analyzer, IntervalSet, IntSet, deduce_bound
from parpass.tir.binary_op import EQ, GE, GT, LE, LT, NE, And, CmpExpr, Or
from parpass.tir.expr import Call, Let, Not, Var
from parpass.tir.iteration import IterVar
from parpass.tir.op import const
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.reduction import Reduce
from parpass.tir.stmt import AttrStmt, For, ForKind, LetStmt
from parpass.tir.stmt_expr_functor import StmtExprVisitor

HINT = "pragma_loop_partition_hint"
Sets = dict[Var, IntervalSet]

_INVERSE: Mapping[type[PrimExpr], type[Any]] = {
    LT: GE,
    GE: LT,
    GT: LE,
    LE: GT,
    EQ: NE,
    NE: EQ,
}


def is_likely(expr: Any) -> bool:
    """Return whether an expression is the mark of a condition that mostly holds."""
    return isinstance(expr, Call) and expr.op is Op.get("tir.likely")


def thread_axis(stmt: AttrStmt) -> IterVar | None:
    """Return the axis of threads that a statement says the extent of, if it does."""
    axis: Any = stmt.node
    is_axis = stmt.attr_key == "thread_extent" and isinstance(axis, IterVar)
    return axis if is_axis else None


class CandidateSelector(StmtExprVisitor):
    """Finds the loops whose variables stand in conditions that are marked as likely.

    Args:
        partition_const_loop: Whether loops of constant bounds are among them.
        hinted: The variables that a pragma hints at; those that are found are added.

    Attributes:
        candidates: Those loops, and those whose variables a pragma hints at.
    """

    def __init__(self, partition_const_loop: bool, hinted: set[Var]) -> None:
        super().__init__()
        self.candidates: set[For] = set()
        self._hinted = hinted
        self._with_constants = partition_const_loop
        self._used: dict[Any, bool] = {}  # variables of loops around, whether they are
        self._barriers = 0

    def visit_for_(self, op: For) -> Any:
        """Look for its variable in what is in it."""
        barriers = self._barriers
        self._used[op.loop_var] = op.loop_var in self._hinted
        yield from self.visit_children(op)
        is_used = self._used.pop(op.loop_var)
        if is_used and barriers == self._barriers and self._may_be_cut(op):
            self.candidates.add(op)

    def _may_be_cut(self, op: For) -> bool:
        bounds = (op.min, op.extent)
        is_constant = all(isinstance(one, IntImm) for one in bounds)
        if is_constant and not self._with_constants and op.loop_var not in self._hinted:
            return False
        return op.kind != ForKind.THREAD_BINDING

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Heed a hint."""
        node: Any = op.node
        if op.attr_key == HINT:
            self._hinted.add(node.var if isinstance(node, IterVar) else node)
        yield from self.visit_children(op)

    def visit_call_(self, op: Call) -> Any:
        """Note the variables of a condition, or that threads wait for each other."""
        if is_likely(op):
            used = self._used
            used.update((var, True) for var in post_order(op.args[0]) if var in used)
        elif op.op is Op.get("tir.tvm_thread_allreduce"):
            self._barriers += 1
        yield from self.visit_children(op)


class PartitionFinder(StmtExprVisitor):
    """Finds between which values of a variable the conditions of a loop are known.

    Args:
        var: The variable.
        hints: Sets of the variables around the loop.
        relaxed: Sets of those of them, for all values of which conditions are to be
            known: axes of threads, which all have the same loop.
        all_conditions: Whether conditions count that are not marked as likely.

    Attributes:
        partitions: A set, by the condition and whether it holds or not for all values
            of the set, whatever the variables in the loop are.
    """

    def __init__(
        self, var: Var, hints: Sets, relaxed: Sets, *, all_conditions: bool
    ) -> None:
        super().__init__()
        self.partitions: dict[tuple[PrimExpr, bool], IntervalSet] = {}
        self._var = var
        self._hints, self._relaxed = dict(hints), dict(relaxed)
        self._outside: set[Node] = {*hints, *relaxed}
        self._fixed: set[Node] = set()  # what has none of these in it
        self._all_conditions = all_conditions
        self._analyzer = Analyzer()

    def _inside(
        self, op: Node, var: Var, values: IntervalSet
    ) -> Generator[Any, None, None]:
        self._hints[var] = self._relaxed[var] = values
        yield from self.visit_children(op)
        del self._hints[var], self._relaxed[var]

    def visit_for_(self, op: For) -> Any:
        """Go into a loop, if it is the same for all values of the variables."""
        if not (self._varies(op.min) or self._varies(op.extent)):
            values = IntSet.from_min_extent(op.min, op.extent)
            yield from self._inside(op, op.loop_var, values)

    def _varies(self, bound: PrimExpr) -> bool:
        """Return whether a bound has variables from outside; parts are seen once."""
        found, seen = [cast("Node", bound)], set[Node]()
        while found:
            node = found.pop()
            if node in self._outside:
                return True
            if node not in seen and node not in self._fixed:
                seen.add(node)
                found += children(node)
        self._fixed |= seen
        return False

    def visit_let_stmt_(self, op: LetStmt) -> Any:
        """Know what the variable may be."""
        values = self._analyzer.int_set(op.value, self._relaxed)
        yield from self._inside(op, op.var, values)

    def visit_let_(self, op: Let) -> Any:
        """Know what the variable may be."""
        values = self._analyzer.int_set(op.value, self._relaxed)
        yield from self._inside(op, op.var, values)

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Know the range of an axis of threads."""
        axis = thread_axis(op)
        if axis is None:
            yield from self.visit_children(op)
        else:
            values = IntSet.from_min_extent(const(0, op.value.dtype), op.value)
            yield from self._inside(op, axis.var, values)

    def visit_reduce_(self, op: Reduce) -> None:
        """Leave out what has variables of its own that are not known here."""

    def visit_call_(self, op: Call) -> Any:
        """Look at a condition that is marked."""
        if is_likely(op):
            for one in comparisons(op.args[0]):
                self._find(one)
        else:
            yield from self.visit_children(op)

    def visit_default(self, expr: Node) -> None:
        """Look at a comparison, if all count."""
        if self._all_conditions and isinstance(expr, CmpExpr):
            self._find(expr)
        super().visit_default(expr)

    def _find(self, condition: PrimExpr) -> None:
        inverse = _INVERSE[type(condition)](condition.a, condition.b)
        for truth, claim in ((True, condition), (False, inverse)):
            found = deduce_bound(self._var, claim, self._hints, self._relaxed)
            if not found.is_nothing() and _may_be_a_bound(found):
                self.partitions[condition, truth] = found


def comparisons(condition: PrimExpr) -> list[PrimExpr]:
    """Return the comparisons that a condition joins by `and`, `or` and `not`, once."""
    found: list[PrimExpr] = []
    seen: set[Node] = set()
    stack: list[Any] = [condition]
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        if isinstance(one, And | Or):
            stack += (one.b, one.a)
        elif isinstance(one, Not):
            stack.append(one.a)
        elif isinstance(one, CmpExpr):
            found.append(one)
    return found


def _may_be_a_bound(found: IntervalSet) -> bool:
    low, high = found.min_value, found.max_value
    has_low, has_high = found.has_lower_bound(), found.has_upper_bound()
    return (not has_low or may_be_speculated(low)) and (
        not has_high or may_be_speculated(high)
    )
