"""VectorizeLoop: all rounds of a loop at once, by loads and stores of vectors."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from msgspec import structs

from parpass.diagnostic import Span
from parpass.errors import IRError
from parpass.ir.module import IRModule
from parpass.ir.node import Node, breadth_first, children
from parpass.tir.analysis.expr_analysis import side_effect
from parpass.tir.analysis.function_contents import contents
from parpass.tir.data_type import data_type
from parpass.tir.expr import CallEffectKind, IntImm, Load, PrimExpr, Ramp, Var
from parpass.tir.function import PrimFunc
from parpass.tir.op import add, cast_to, const, multiply
from parpass.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    Store,
    While,
)
from parpass.tir.stmt_expr_functor import StmtExprMutator, StmtMutator
from parpass.tir.stmt_functor import substitute
from parpass.tir.transform.expr_vectorizer import (
    ExprVectorizer,
    aligned,
    lanes_of,
    unchanged,
)
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.tir.transform.ssa import convert_ssa
from parpass.transform import PassContext, PassInfo, register_pass

_Exprs = Generator[Node, Any, "list[Any] | None"]


class Vectorizer(ExprVectorizer):
    """Vectorizes each statement that it can; others get a loop around them."""

    def __init__(self, var: Var, ramp: Ramp) -> None:
        super().__init__(var, ramp)
        # Whether a statement that needs a loop mentions a vector that was bound outside
        # of it: the loop is put around what binds it.
        self._needs_more = False

    def _exprs(self, *exprs: PrimExpr) -> _Exprs:
        """Return the expressions of a statement as vectors; None if one has none."""
        known, self.memo_map = self.memo_map, {}
        new: list[Any] = []
        for one in exprs:
            value = yield from self.visit_child(one)
            new.append(value)
        self.memo_map = known
        is_stuck, self.is_stuck = self.is_stuck, False
        return None if is_stuck else new

    def _scalars(self, *exprs: PrimExpr) -> _Exprs:
        """Return the same, where only scalars will do."""
        new = yield from self._exprs(*exprs)
        if new is None or not all(
            lanes_of(one) == lanes_of(old) for one, old in zip(new, exprs, strict=True)
        ):
            return None
        return new

    def _in_loop(self, stmt: Stmt) -> Stmt:
        if self.lets and any(node in self.lets for node in breadth_first(stmt)):
            self._needs_more = True
            return stmt
        message = "run iteration by iteration: it has no vector form"
        what, span = type(stmt).__name__, getattr(stmt, "span", None)
        _remark(self.var, "missed", "NotVectorized", message, span, statement=what)
        index = structs.replace(self.var, name=f"{self.var.name}.s")
        body = substitute(stmt, {self.var: index})
        first, lanes = self.ramp.base, self.ramp.lanes
        extent = const(lanes, first.dtype)
        return For(index, first, extent, ForKind.SERIAL, body, span=span)

    def visit_store_(self, op: Store) -> Any:
        """Store a vector."""
        old = (op.value, op.index, op.predicate)
        new = yield from self._exprs(*old)
        if new is None or _acts(op.value):
            return self._in_loop(op)
        if unchanged(old, new):
            return op
        found = aligned(new)
        if found is None or lanes_of(op.value) not in (1, lanes_of(op.index)):
            return self._in_loop(op)
        return Store(op.buffer_var, *found, span=op.span)

    def visit_buffer_store_(self, op: BufferStore) -> Any:
        """Store in a loop, as a buffer is indexed by scalars."""
        old = (op.value, *op.indices)
        new = yield from self._scalars(*old)
        is_same = new is not None and unchanged(old, new) and not _acts(op.value)
        return op if is_same else self._in_loop(op)

    def visit_evaluate_(self, op: Evaluate) -> Any:
        """Evaluate for each round what does something."""
        new = yield from self._exprs(op.value)
        if new is None or _acts(op.value):
            return self._in_loop(op)
        return op if new[0] is op.value else Evaluate(new[0], op.span)

    def visit_let_stmt_(self, op: LetStmt) -> Any:
        """Bind a vector."""
        new = yield from self._exprs(op.value)
        if new is None or _acts(op.value):
            return self._in_loop(op)
        [value] = new
        var = self.bound(op.var, value)
        before, self._needs_more = self._needs_more, False
        body = yield from self.visit_child(op.body)
        is_vector = self.lets.pop(op.var, None) is not None
        needs_more, self._needs_more = self._needs_more, before
        if is_vector and needs_more:
            return self._in_loop(op)
        self._needs_more = before or needs_more
        if value is op.value and body is op.body:
            return op
        return LetStmt(var, value, body, op.span)

    def visit_for_(self, op: For) -> Any:
        """Keep a loop whose bounds are the same in all rounds."""
        new = yield from self._scalars(op.min, op.extent)
        if new is None:
            return self._in_loop(op)
        body = yield from self.visit_child(op.body)
        kind = ForKind.SERIAL if op.kind == ForKind.VECTORIZED else op.kind
        if unchanged((op.min, op.extent, op.body), (*new, body)) and kind == op.kind:
            return op
        return structs.replace(op, min=new[0], extent=new[1], kind=kind, body=body)

    def visit_while_(self, op: While) -> Any:
        """Refuse it, as TVM does."""
        raise IRError(
            "A while loop inside a vectorized loop not supported: make the loop over "
            f"'{self.var.name}' a serial one"
        )

    def visit_if_then_else_(self, op: IfThenElse) -> Any:
        """Keep a condition that is the same in all rounds."""
        new = yield from self._scalars(op.condition)
        if new is None or _acts(op.condition):
            return self._in_loop(op)
        then_case = yield from self.visit_child(op.then_case)
        else_case = op.else_case
        if else_case is not None:
            else_case = yield from self.visit_child(else_case)
        old = (op.condition, op.then_case, op.else_case)
        if unchanged(old, (*new, then_case, else_case)):
            return op
        return IfThenElse(new[0], then_case, else_case, op.span)

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Keep what is said of all rounds."""
        new = yield from self._scalars(op.value)
        if new is None:
            return self._in_loop(op)
        body = yield from self.visit_child(op.body)
        if new[0] is op.value and body is op.body:
            return op
        return structs.replace(op, value=new[0], body=body)

    def visit_assert_stmt_(self, op: AssertStmt) -> Any:
        """Keep an assertion that is the same in all rounds."""
        new = yield from self._scalars(op.condition)
        if new is None:
            return self._in_loop(op)
        body = yield from self.visit_child(op.body)
        if new[0] is op.condition and body is op.body:
            return op
        return structs.replace(op, condition=new[0], body=body)

    def visit_allocate_(self, op: Allocate) -> Any:
        """Give each round memory of its own, side by side."""
        old = (*op.extents, op.condition)
        new = yield from self._scalars(*old)
        wide = data_type(op.dtype).lanes > 1
        if new is None or wide or not _is_accessed_only(op.buffer_var, op.body):
            return self._in_loop(op)
        lanes = self.ramp.lanes
        at = self.var - self.ramp.base
        shared = _SideBySide(op.buffer_var, lanes, at).visit(op.body)
        body = yield from self.visit_child(shared)
        extents = (*new[:-1], const(lanes, "int32"))
        return structs.replace(op, extents=extents, condition=new[-1], body=body)

    def visit_buffer_realize_(self, op: BufferRealize) -> Any:
        """Realize for each round."""
        return self._in_loop(op)
        yield op  # a generator, so that what is in it is not visited


class _SideBySide(StmtExprMutator):
    """Gives each round every so many elements of memory."""

    def __init__(self, buffer_var: Var, lanes: int, at: PrimExpr) -> None:
        super().__init__()
        self._var, self._lanes, self._at = buffer_var, lanes, at

    def visit_load_(self, op: Load) -> Node:
        return self._moved(self.visit_default(op))

    def visit_store_(self, op: Store) -> Node:
        return self._moved(self.visit_default(op))

    def _moved(self, op: Any) -> Node:
        if op.buffer_var is not self._var:
            return op
        factor = const(self._lanes, op.index.dtype)
        return structs.replace(op, index=add(multiply(op.index, factor), self._at))


def _is_accessed_only(buffer_var: Var, body: Stmt) -> bool:
    """Return whether a pointer is used for nothing but loads and stores."""
    return all(
        isinstance(node, Load | Store)
        for node in breadth_first(body)
        if any(child is buffer_var for child in children(node))
    )


def _acts(expr: PrimExpr) -> bool:
    return side_effect(expr) > CallEffectKind.ReadState


@register_pass("tir.transform.VectorizeLoop")
class VectorizeLoop(PrimFuncPass):
    """Turn loops marked `vectorized` into vector operations.

    ::

        for i in vectorized(0, 4):
            B[i] = A[i] * 2
            if i < n:
                C[i] = B[i]

    becomes::

        B[ramp(0, 1, 4)] = A[ramp(0, 1, 4)] * broadcast(2, 4)
        for i.s in range(0, 4):
            if i.s < n:
                C[i.s] = B[i.s]

    The mark asserts that the iterations may run side by side, statement by statement.
    Statements without a vector form run one iteration at a time: for example, a
    statement under a condition that differs between iterations, or an access by
    `BufferLoad` or `BufferStore`.

    Args:
        enable_vectorize: If False, the loops become serial loops.
    """

    pass_info = PassInfo(0, "tir.VectorizeLoop")
    cacheable = True

    def __init__(self, enable_vectorize: bool = True) -> None:
        self.enable_vectorize = enable_vectorize

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function without loops that are marked."""
        if ForKind.VECTORIZED not in ctx.get_analysis(contents, func).loops:
            return func
        rewriter = LoopVectorizer() if self.enable_vectorize else VectorizeSkipper()
        body = rewriter.visit(func.body)
        assert isinstance(body, Stmt)
        return func if body is func.body else func.with_body(convert_ssa(body))


class LoopVectorizer(StmtMutator):
    """Vectorizes loops that are marked."""

    def visit_for_(self, op: For) -> Any:
        """Vectorize a loop; loops in it are not."""
        if op.kind != ForKind.VECTORIZED:
            return (yield from self.visit_children(op))
        if not isinstance(op.extent, IntImm):
            raise IRError(
                f"Failed to vectorize loop with extent {op.extent!r}: expected a "
                f"constant for the loop over '{op.loop_var.name}'"
            )
        lanes, first = op.extent.value, cast_to(op.min, op.loop_var.dtype)
        if lanes < 1:
            return Evaluate(0)
        if lanes == 1:
            return substitute(op.body, {op.loop_var: first})
        ramp = Ramp(first, const(1, first.dtype), lanes)
        message = "vectorized"
        _remark(op.loop_var, "passed", "Vectorized", message, op.span, lanes=lanes)
        return Vectorizer(op.loop_var, ramp).visit(op.body)


class VectorizeSkipper(StmtMutator):
    """Makes loops that are marked serial ones."""

    def visit_for_(self, op: For) -> Any:
        """Take the mark away."""
        new = yield from self.visit_children(op)
        if op.kind != ForKind.VECTORIZED:
            return new
        message = "made a serial loop: vectorization is off"
        _remark(op.loop_var, "missed", "NotVectorized", message, op.span)
        return structs.replace(new, kind=ForKind.SERIAL)


def _remark(
    var: Var, kind: str, name: str, message: str, span: Span | None, **values: Any
) -> None:
    context = PassContext.current()
    context.remark(kind, message, span, name=name, loop=var.name, **values)
