"""HoistIfThenElse: conditions that are the same in all rounds of a loop leave it."""

from __future__ import annotations

from typing import Any, cast

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.tir_config import HoistIfThenElseConfig, loop_option
from parpass.tir.analysis.expr_analysis import may_be_speculated
from parpass.tir.expr import Var
from parpass.tir.function import PrimFunc
from parpass.tir.iteration import IterVar
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import AttrStmt, For, IfThenElse, Stmt
from parpass.tir.stmt_expr_functor import StmtMutator
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.tir.transform.ssa import convert_ssa
from parpass.transform import PassContext, PassInfo, register_pass


@register_pass("tir.transform.HoistIfThenElse")
class HoistIfThenElse(PrimFuncPass):
    """Move conditions out of the loops whose variables they do not mention.

    ::

        for i in range(0, 8):
            for j in range(0, 8):
                if i < n:
                    A[i, j] = 1

    becomes::

        for i in range(0, 8):
            if i < n:
                for j in range(0, 8):
                    A[i, j] = 1

    That is done where the loop has nothing but the condition, which may be evaluated
    where the loop has no rounds: it reads no memory and divides by no variable. What an
    `AttrStmt` defines, such as an axis of threads, is left where it is, unless the
    option `tir.HoistIfThenElse` has `support_block_scope_hosting`.

    Args:
        variant: "basic" to disregard the option, as TVM's has it.
    """

    pass_info = PassInfo(0, "tir.HoistIfThenElse")

    def __init__(self, variant: str | None = None) -> None:
        self.variant = variant

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function with conditions outside of loops."""
        config = loop_option(ctx, HoistIfThenElseConfig)
        if self.variant == "basic":
            config = HoistIfThenElseConfig()
        hoister = IfThenElseHoister(across_blocks=config.support_block_scope_hosting)
        body = cast("Stmt", hoister.visit(func.body))
        return func if body is func.body else func.with_body(convert_ssa(body))


class IfThenElseHoister(StmtMutator):
    """Moves conditions out of loops, the inner loops first.

    Args:
        across_blocks: Whether conditions that mention variables of attributes outside
            of the loop may be moved.
    """

    def __init__(self, *, across_blocks: bool) -> None:
        super().__init__()
        self._across_blocks = across_blocks
        self._of_attrs: list[Var] = []  # around where we are

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Remember its variable in its scope."""
        defined = _defined(op)
        self._of_attrs += defined
        new = yield from self.visit_children(op)
        del self._of_attrs[len(self._of_attrs) - len(defined) :]
        return new

    def visit_for_(self, op: For) -> Any:
        """Put the condition around the loop, if there is one, and the next one."""
        new = yield from self.visit_children(op)
        around: list[tuple[IfThenElse, For | None]] = []
        inner: Any = new
        while True:
            found = self._condition_of(inner)
            if found is None:
                break
            condition, attrs = found
            otherwise = condition.else_case
            missed = None if otherwise is None else _with_body(inner, attrs, otherwise)
            around.append((condition, cast("For | None", missed)))
            inner = _with_body(inner, attrs, condition.then_case)
        for condition, missed in reversed(around):
            inner = structs.replace(condition, then_case=inner, else_case=missed)
        return inner

    def _condition_of(self, loop: For) -> tuple[IfThenElse, list[AttrStmt]] | None:
        """Return what may leave a loop, and the attributes between it and the loop."""
        attrs: list[AttrStmt] = []
        body = loop.body
        while isinstance(body, AttrStmt):
            attrs.append(body)
            body = body.body
        if not isinstance(body, IfThenElse):
            return None
        fixed = {loop.loop_var, *(var for attr in attrs for var in _defined(attr))}
        if not self._across_blocks:
            fixed.update(self._of_attrs)
        used = _variables(body.condition)
        if not used or used & fixed or not may_be_speculated(body.condition):
            return None
        return body, attrs


def _variables(expr: PrimExpr) -> set[Var]:
    return {node for node in post_order(expr) if isinstance(node, Var)}


def _defined(attr: AttrStmt) -> list[Var]:
    node: Any = attr.node
    if isinstance(node, IterVar):
        return [node.var]
    return [node] if isinstance(node, Var) else []


def _with_body(loop: For, attrs: list[AttrStmt], body: Stmt) -> Stmt:
    """Return a loop over attributes with another body."""
    for attr in reversed(attrs):
        body = structs.replace(attr, body=body)
    return structs.replace(loop, body=body)
