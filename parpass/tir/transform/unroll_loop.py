"""UnrollLoop: loops of a few rounds become these rounds, one after the other."""

from __future__ import annotations

from typing import Any, cast

from msgspec import structs

from parpass.errors import IRError
from parpass.fork_safety import cached_property
from parpass.ir.module import IRModule
from parpass.ir.node import Node, breadth_first
from parpass.ir.node.tree_size import MAX_COPIES, check_copies
from parpass.ir.tir_config import UnrollLoopConfig, unroll_loop_option
from parpass.tir.analysis.expr_analysis import side_effect
from parpass.tir.expr import CallEffectKind, IntImm, PrimExpr, Var
from parpass.tir.function import PrimFunc
from parpass.tir.op import const
from parpass.tir.stmt import (
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    LetStmt,
    SeqStmt,
    Stmt,
    Store,
    stmt_list,
    stmt_seq,
)
from parpass.tir.stmt_expr_functor import StmtExprMutator, StmtMutator
from parpass.tir.stmt_functor import substitute
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.tir.transform.ssa import convert_ssa
from parpass.transform import PassContext, PassInfo, register_pass

_INT32_MAX = 2**31 - 1  # a loop of more rounds is not unrolled, whatever is asked
_MOST_STEPS = 2**62  # counted so far
_MAX_COPIES = 2 * MAX_COPIES  # nodes that the rounds of a loop are copied to


@register_pass("tir.transform.UnrollLoop")
class UnrollLoop(PrimFuncPass):
    """Unroll short loops, and loops that are marked `unrolled`.

    ::

        for i in unrolled(0, 3):
            B[i] = A[i] + 1

    becomes::

        B[0] = A[0] + 1
        B[1] = A[1] + 1
        B[2] = A[2] + 1

    The context's option `tir.UnrollLoop` defines short loops. Such a loop has at most
    `auto_max_step` iterations times statements, or at most `auto_max_extent`
    iterations, and contains at most `auto_max_depth` levels of unrolled loops. Without
    `explicit_unroll` these loops are only marked for the code generator. In a program,
    `pragma_auto_unroll_max_step` and `pragma_unroll_explicit` override the option for a
    statement.
    """

    pass_info = PassInfo(0, "tir.UnrollLoop")
    cacheable = True

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function with loops unrolled.

        Raises:
            SizeLimitError: The rounds of a loop would be too many nodes.
        """
        unroller = LoopUnroller(unroll_loop_option(ctx))
        return func.with_body(unroller.unrolled(func.body))


class LoopUnroller(StmtMutator):
    """Unrolls loops, the inner ones first."""

    def __init__(self, config: UnrollLoopConfig) -> None:
        super().__init__()
        self._config = config
        self._explicit = config.explicit_unroll
        self._max_step = config.auto_max_step
        # Of the statements so far, between those that a SeqStmt has: their number, in
        # all rounds; how deep they are in unrolled loops, and in others.
        self._steps = self._unrolled = self._normal = 0
        # Of loops of one round, what the variable is. All are put in at once: one by
        # one would take, of a nest of such loops, the square of its depth.
        self._known: dict[Var, PrimExpr] = {}
        # What came of a statement of a sequence, by it and the pragmas around it, with
        # the counts: these begin anew there.
        self._done: dict[tuple[Stmt, int, bool], tuple[Stmt, int, int, int]] = {}

    def unrolled(self, body: Stmt) -> Stmt:
        """Return a statement with loops unrolled."""
        new = self._settled(self.visit(body))
        return body if new is body else convert_ssa(new)

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Heed the pragmas of unrolling, which are gone then."""
        before = self._max_step, self._explicit
        if op.attr_key == "pragma_auto_unroll_max_step":
            self._max_step = int(op.value)
        elif op.attr_key == "pragma_unroll_explicit":
            self._explicit = bool(int(op.value))
        else:
            new = yield from self.visit_children(op)
            return new
        body = yield from self.visit_child(op.body)
        self._max_step, self._explicit = before
        return body

    def visit_for_(self, op: For) -> Any:
        """Unroll a loop, or mark it, if that is asked for."""
        new = yield from self.visit_children(op)
        extent = self._rounds(new)
        why = self._why_not(new, extent)
        is_short = new.kind == ForKind.SERIAL and why is None
        if op.kind == ForKind.UNROLLED:
            if extent is None:
                raise IRError(
                    f"Cannot unroll non-constant loop: expected a constant extent for "
                    f"the unrolled loop over '{op.loop_var.name}', got {op.extent!r}"
                )
            is_short = True
        if is_short:
            self._steps *= extent or 0
            self._unrolled += 1
        else:
            self._normal += 1
        is_trivial = self._config.auto_max_extent == 1 and extent in (0, 1)
        if (is_short and self._explicit) or is_trivial:
            _remark(op, "passed", "Unrolled", "unrolled", extent)
            return self._rounds_of(new, extent or 0)
        if is_short:
            message = "left for the code generator to unroll"
            _remark(op, "passed", "MarkedUnrolled", message, extent)
            if new.kind != ForKind.UNROLLED:
                return structs.replace(new, kind=ForKind.UNROLLED)
        elif why is not None:
            _remark(op, "missed", "NotUnrolled", f"not unrolled: {why}", extent)
        return new

    def _rounds(self, loop: For) -> int | None:
        """Return how many rounds a loop has, if that is a constant."""
        extent = loop.extent
        if not isinstance(extent, IntImm | Var):
            extent = self._analyzer.simplify(extent)
        if not isinstance(extent, IntImm) or extent.value > _INT32_MAX:
            return None
        return max(extent.value, 0)

    @cached_property
    def _analyzer(self) -> Any:
        # With its rules it takes longer to load than all else, and few need it.
        from parpass.tir.arith import Analyzer

        return Analyzer()

    def _why_not(self, loop: For, extent: int | None) -> str | None:
        """Return why a serial loop is not short; None if it is, or is not serial."""
        if loop.kind != ForKind.SERIAL:
            return None
        if extent is None:
            return "its number of iterations is not constant"
        if self._normal:
            return "a loop in it is not unrolled"
        if self._unrolled > self._config.auto_max_depth:
            return "it contains more nested unrolled loops than auto_max_depth allows"
        steps = extent * self._steps
        if steps > self._max_step and extent > self._config.auto_max_extent:
            return "it is longer than auto_max_step and auto_max_extent allow"
        return None

    def visit_store_(self, op: Store) -> Node:
        """Count it."""
        self._steps += 1
        return op

    def visit_buffer_store_(self, op: BufferStore) -> Node:
        """Count it."""
        self._steps += 1
        return op

    def visit_evaluate_(self, op: Evaluate) -> Node:
        """Count it."""
        self._steps += 1
        return op

    def visit_seq_stmt_(self, op: SeqStmt) -> Any:
        """Unroll each statement by itself, and count all."""
        new: list[Stmt] = []
        steps, unrolled, normal = self._steps, self._unrolled, self._normal
        known = self.memo_map
        for stmt in op.seq:
            key = stmt, self._max_step, self._explicit
            if key not in self._done:
                self._steps = self._unrolled = self._normal = 0
                self.memo_map = {}  # what comes of a statement depends on the place
                result = yield from self.visit_child(stmt)
                counted = self._steps, self._unrolled, self._normal
                self._done[key] = result, *counted
            result, of_one, *loops = self._done[key]
            new.append(result)
            steps = min(steps + of_one, _MOST_STEPS)
            unrolled = max(unrolled, loops[0])
            normal = max(normal, loops[1])
        self.memo_map = known
        self._steps, self._unrolled, self._normal = steps, unrolled, normal
        if all(one is other for one, other in zip(new, op.seq, strict=True)):
            return op
        return SeqStmt(new)

    def _rounds_of(self, loop: For, extent: int) -> Stmt:
        var = loop.loop_var
        if extent <= 0:
            return Evaluate(0)
        is_pure = side_effect(loop.min) <= CallEffectKind.Pure
        if extent == 1:
            if not is_pure:
                return LetStmt(var, loop.min, loop.body)
            self._known[var] = loop.min
            return loop.body
        first, body = self._settled(loop.min), self._settled(loop.body)
        _check_copies(loop, body, extent)
        # The rounds may store to memory in which it is.
        begin = first if is_pure else structs.replace(var)
        values = [begin + const(at, var.dtype) for at in range(extent)]
        rounds = [substitute(body, {var: value}) for value in values]
        new = stmt_seq(*stmt_list(SeqStmt(rounds)))
        return new if is_pure else LetStmt(cast("Var", begin), first, new)

    def _settled(self, stmt: Any) -> Any:
        return _Settling(self._known).visit(stmt) if self._known else stmt


def _remark(loop: For, kind: str, name: str, message: str, rounds: int | None) -> None:
    values: dict[str, Any] = {} if rounds is None else {"rounds": rounds}
    PassContext.current().remark(
        kind, message, loop.span, name=name, loop=loop.loop_var.name, **values
    )


def _check_copies(loop: For, body: Stmt, extent: int) -> None:
    """Check how many nodes are copied to write out the rounds of a loop.

    Raises:
        SizeLimitError: They are too many.
    """
    nodes = breadth_first(body)
    check_copies(
        (extent - 1) * (len(nodes) if loop.loop_var in nodes else 1),
        f"nodes for the rounds of the unrolled loop over '{loop.loop_var.name}'",
        "make it, or one in it, a serial loop",
        _MAX_COPIES,
    )


class _Settling(StmtExprMutator):
    """Puts what variables are in their place; that may mention such variables, too."""

    def __init__(self, known: dict[Var, PrimExpr]) -> None:
        super().__init__()
        self._known = known

    def visit_var_(self, op: Var) -> Any:
        found = self._known.get(op)
        if found is None:
            return op
        return (yield from self.visit_child(found))
