"""Simplify: index arithmetic and conditions, by what is known where they stand."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.node import Node, reflection
from parpass.ir.node.tree_size import MAX_COPIES, check_copies
from parpass.ir.op.op_table import Op
from parpass.tir.analysis.expr_analysis import expr_deep_equal, is_pure, side_effect
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    Call,
    CallEffectKind,
    FloatImm,
    IntImm,
    Load,
    PrimExpr,
    Range,
    StringImm,
    Var,
)
from parpass.tir.function import PrimFunc
from parpass.tir.op import logical_not
from parpass.tir.stmt import AttrStmt, Evaluate, For, IfThenElse, LetStmt, Stmt, Store
from parpass.tir.stmt_expr_functor import StmtMutator
from parpass.tir.stmt_functor import STATEMENT_REMEDY
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.tir.transform.ssa import convert_ssa
from parpass.transform import PassContext, PassInfo, register_pass


@register_pass("tir.transform.Simplify")
class Simplify(PrimFuncPass):
    """Simplify expressions, and conditions that are always true or always false.

    ::

        for i in range(0, 8):
            if i < 8:
                A[i * 4 // 4 + 0] = 1

    becomes::

        for i in range(0, 8):
            A[i] = 1

    The pass uses the range of each loop variable, and the condition of each branch. It
    removes stores of the value that is already there.
    """

    pass_info = PassInfo(0, "tir.Simplify")
    cacheable = True

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function, simplified.

        Raises:
            SizeLimitError: It has statements in too many scopes.
        """
        body = StmtSimplifier().visit(func.body)
        assert isinstance(body, Stmt)
        return func if body is func.body else func.with_body(convert_ssa(body))


_MAX_AGAIN = MAX_COPIES // 4  # each takes as long as some that are only copied
_MAX_CONDITIONS = 16  # known at a time: each makes all simplifying slower


def _plain(condition: PrimExpr) -> PrimExpr:
    """Return a condition without the mark that it mostly holds."""
    if isinstance(condition, Call) and condition.op is Op.get("tir.likely"):
        return condition.args[0]
    return condition


class StmtSimplifier(StmtMutator):
    """Simplifies what statements evaluate, in the order in which they are run."""

    def __init__(self) -> None:
        super().__init__()
        # Its rules take longer to load than all passes, which are loaded together.
        from parpass.tir.arith import Analyzer

        self._analyzer = Analyzer()
        self._conditions = 0  # that are around where we are
        self._pure: set[Node] = set()  # expressions that read nothing
        self._replaced: set[Node] = set()  # variables that are bound no more
        self._met: set[Node] = set()  # what was gone into, in some scope
        self._again = 0  # how many times something was gone into in another one

    def visit_default(self, expr: Node) -> Any:
        """Simplify the expressions of a statement, and the statements in it."""
        return (yield from self._rewritten(expr))

    def _rewritten(self, expr: Node) -> Generator[Node, Any, Any]:
        fields = reflection(type(expr))
        old, new = fields.children(expr), list[Node]()
        for child in old:
            if isinstance(child, Stmt):
                new.append((yield from self.visit_child(child)))
            else:
                new.append(self._simplified(child))
        if all(one is other for one, other in zip(old, new, strict=True)):
            return expr
        return fields.rebuild(expr, new)

    def _simplified(self, child: Any) -> Any:
        is_simple = isinstance(child, Var | IntImm | FloatImm | StringImm)
        is_simple = is_simple and child not in self._replaced
        if is_simple or not isinstance(child, PrimExpr):
            return child
        return self._analyzer.simplify(child)

    def visit_let_stmt_(self, op: LetStmt) -> Any:
        """Put a constant or a variable in the place of one that is the same."""
        value = self._simplified(op.value)
        if isinstance(value, Var | IntImm) and data_type(value.dtype).is_integral:
            self._analyzer.bind(op.var, value, allow_override=True)
            self._replaced.add(op.var)
            return (yield from self._inside(op.body))
        body = yield from self._inside(op.body)
        if value is op.value and body is op.body:
            return op
        return structs.replace(op, value=value, body=body)

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Know the range of an axis of threads."""
        axis, value = op.thread_axis, self._simplified(op.value)
        if axis is not None:
            rounds = Range.from_min_extent(IntImm(axis.var.dtype, 0), value)
            self._analyzer.bind(axis.var, rounds, allow_override=True)
        body = yield from self._inside(op.body)
        if value is op.value and body is op.body:
            return op
        return structs.replace(op, value=value, body=body)

    @contextlib.contextmanager
    def _known(self, condition: PrimExpr) -> Generator[None, None, None]:
        self._conditions += 1
        if self._conditions <= _MAX_CONDITIONS:
            with self._analyzer.constraint_scope(condition):
                yield
        else:
            yield
        self._conditions -= 1

    def _inside(self, body: Stmt) -> Generator[Node, Any, Any]:
        """Return a statement simplified where more is known than outside."""
        known, self.memo_map = self.memo_map, {}
        new = yield from self.visit_child(body)
        before = len(self._met)
        self._met.update(self.memo_map)
        self._again += len(self.memo_map) - (len(self._met) - before)
        check_copies(
            self._again, "statements to be simplified", STATEMENT_REMEDY, _MAX_AGAIN
        )
        self.memo_map = known
        return new

    def visit_for_(self, op: For) -> Any:
        """Know the range of the variable."""
        first, extent = self._simplified(op.min), self._simplified(op.extent)
        # What is read from memory is not known to be there after a store.
        if is_pure(op.min, self._pure) and is_pure(op.extent, self._pure):
            rounds = Range.from_min_extent(first, extent)
            self._analyzer.bind(op.loop_var, rounds, allow_override=True)
        body = yield from self._inside(op.body)
        if first is op.min and extent is op.extent and body is op.body:
            return op
        return structs.replace(op, min=first, extent=extent, body=body)

    def visit_if_then_else_(self, op: IfThenElse) -> Any:
        """Know the condition in the branches, or choose one of them."""
        condition = self._simplified(op.condition)
        if isinstance(condition, IntImm):
            chosen = op.then_case if condition.value else op.else_case
            if chosen is None:
                return Evaluate(0)
            return (yield from self.visit_child(chosen))
        with self._known(_plain(condition)):
            then_case = yield from self._inside(op.then_case)
        else_case = op.else_case
        if else_case is not None:
            with self._known(logical_not(_plain(condition))):
                else_case = yield from self._inside(else_case)
        new = (condition, then_case, else_case)
        old = (op.condition, op.then_case, op.else_case)
        if all(one is other for one, other in zip(old, new, strict=True)):
            return op
        return IfThenElse(condition, then_case, else_case, op.span)

    def visit_store_(self, op: Store) -> Any:
        """Forget what is there already."""
        new = yield from self._rewritten(op)
        value = new.value
        if (
            isinstance(value, Load)
            and value.buffer_var is new.buffer_var
            and expr_deep_equal(value.index, new.index)
            and expr_deep_equal(value.predicate, new.predicate)
            and side_effect(new.index) < CallEffectKind.UpdateState
        ):
            return Evaluate(0)
        return new
