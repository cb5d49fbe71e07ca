"""Simplify: index arithmetic and conditions, by what is known where they stand."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.node import Node, reflection
from parpass.tir.analysis.deep_equal import expr_deep_equal
from parpass.tir.analysis.side_effect import side_effect
from parpass.tir.builtin import CallEffectKind
from parpass.tir.expr import Load, Var
from parpass.tir.function import PrimFunc
from parpass.tir.iteration import Range
from parpass.tir.prim_expr import FloatImm, IntImm, PrimExpr, StringImm
from parpass.tir.stmt import Evaluate, For, IfThenElse, Stmt, Store
from parpass.tir.stmt_expr_functor import StmtMutator
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass


@register_pass("tir.transform.Simplify")
class Simplify(PrimFuncPass):
    """Simplify expressions, and conditions that always hold or never do.

    ::

        for i in range(0, 8):
            if i < 8:
                A[i * 4 // 4 + 0] = 1

    becomes::

        for i in range(0, 8):
            A[i] = 1

    In the rounds of a loop its variable is known to be in its range. What stores what
    is there already goes.
    """

    pass_info = PassInfo(0, "tir.Simplify")

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function, simplified."""
        body = StmtSimplifier().visit(func.body)
        assert isinstance(body, Stmt)
        return func.with_body(body)


class StmtSimplifier(StmtMutator):
    """Simplifies what statements evaluate, in the order in which they are run."""

    def __init__(self) -> None:
        super().__init__()
        # Its rules take longer to load than all passes, which are loaded together.
        from parpass.tir.arith import Analyzer

        self._analyzer = Analyzer()

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
        if is_simple or not isinstance(child, PrimExpr):
            return child
        return self._analyzer.simplify(child)

    def visit_for_(self, op: For) -> Any:
        """Know the range of the variable."""
        first, extent = self._simplified(op.min), self._simplified(op.extent)
        rounds = Range.from_min_extent(first, extent)
        self._analyzer.bind(op.loop_var, rounds, allow_override=True)
        known, self.memo_map = self.memo_map, {}
        body = yield from self.visit_child(op.body)
        self.memo_map = known
        if first is op.min and extent is op.extent and body is op.body:
            return op
        return structs.replace(op, min=first, extent=extent, body=body)

    def visit_if_then_else_(self, op: IfThenElse) -> Any:
        """Choose a branch, if it is known which."""
        condition = self._simplified(op.condition)
        if isinstance(condition, IntImm):
            chosen = op.then_case if condition.value else op.else_case
            if chosen is None:
                return Evaluate(0)
            return (yield from self.visit_child(chosen))
        then_case = yield from self.visit_child(op.then_case)
        else_case = op.else_case
        if else_case is not None:
            else_case = yield from self.visit_child(else_case)
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
