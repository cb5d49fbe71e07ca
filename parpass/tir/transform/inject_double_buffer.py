"""InjectDoubleBuffer: what a round of a loop needs is fetched in the round before."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, cast

from msgspec import structs

from parpass.errors import IRError
from parpass.ir.module import IRModule
from parpass.ir.node import Node, breadth_first, children
from parpass.ir.tir_config import InjectDoubleBufferConfig, loop_option
from parpass.tir.data_type import data_type
from parpass.tir.expr import Load, Var
from parpass.tir.function import PrimFunc
from parpass.tir.op import add, const, div, indexmod, less, multiply, subtract
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt import (
    Allocate,
    AttrStmt,
    Evaluate,
    For,
    IfThenElse,
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

_SCOPE, _WRITE = "double_buffer_scope", "double_buffer_write"


@register_pass("tir.transform.InjectDoubleBuffer")
class InjectDoubleBuffer(PrimFuncPass):
    """Give memory a second half, filled for the next round while one uses the first.

    ::

        for i in range(0, n):
            allocate B[4]
            attr double_buffer_scope(B):
                B[0] = A[i]
            C[i] = B[0]

    becomes, with the option `tir.InjectDoubleBuffer` of `split_loop` 0::

        allocate B[2, 4]
        B[0] = A[0]
        for i in range(0, n):
            if i + 1 < n:
                attr double_buffer_write(B):
                    B[(i + 1) % 2 * 4] = A[i + 1]
            C[i] = B[i % 2 * 4]

    With a `split_loop` of two or more, so many rounds are written out, and those that
    are left over come after the loop. The mark asserts that what is fetched does not
    depend on what the round before computes. What is marked is accessed by
    `Load` and `Store` alone; elsewhere the mark is left as it is.
    """

    pass_info = PassInfo(0, "tir.InjectDoubleBuffer")

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function with double buffers."""
        marked = _marked(func.body)
        if not marked:
            return func
        split = loop_option(ctx, InjectDoubleBufferConfig).split_loop
        injector = DoubleBufferInjector(marked, split)
        return func.with_body(convert_ssa(cast("Stmt", injector.visit(func.body))))


class _Entry:
    """Memory that gets a second half.

    Attributes:
        stride: The elements of a half.
        loop: The loop in whose rounds it is filled.
        write: The half that is filled, a variable until the place is known.
        read: The half that is used.
    """

    stride: PrimExpr
    loop: For | None = None
    write: Var
    read: PrimExpr


class DoubleBufferInjector(StmtExprMutator):
    """Gives memory a second half."""

    def __init__(self, marked: set[Var], split_loop: int) -> None:
        super().__init__()
        if split_loop < 0 or (split_loop > 1 and split_loop % 2):
            raise IRError(
                "It is better to split with multiple of 2: expected a split_loop of 0, "
                f"1 or an even number, got {split_loop}"
            )
        self._split = split_loop
        self._entries = {var: _Entry() for var in marked}
        self._loops: list[For] = []
        self._allocations: dict[For, list[Allocate]] = defaultdict(list)
        self._before: dict[For, list[Stmt]] = defaultdict(list)

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Fetch for the next round what is marked."""
        entry = self._entries.get(op.node)
        if op.attr_key != _SCOPE or entry is None:
            return (yield from self.visit_children(op))
        if not self._loops:
            raise IRError(
                "Double buffer scope must be inside a loop: it is around "
                f"'{op.node.name}', which no loop is around"
            )
        loop = entry.loop = self._loops[-1]
        var = loop.loop_var
        one, two = const(1, var.dtype), const(2, var.dtype)
        entry.write = Var(f"{var.name}.db", var.dtype)
        entry.read = indexmod(var, two)
        body = yield from self.visit_child(op.body)
        first = {entry.write: indexmod(loop.min, two), var: loop.min}
        self._before[loop].append(substitute(body, first))
        following = add(var, one)
        at = {entry.write: indexmod(following, two), var: following}
        fetched = AttrStmt(op.node, _WRITE, 1, substitute(body, at), op.span)
        is_there = less(following, add(loop.min, loop.extent))
        return IfThenElse(is_there, fetched, span=op.span)

    def visit_allocate_(self, op: Allocate) -> Any:
        """Double it, and have it before the loop."""
        entry = self._entries.get(op.buffer_var)
        if entry is None:
            return (yield from self.visit_children(op))
        entry.stride = const(data_type(op.dtype).lanes, "int32")
        for extent in op.extents:
            entry.stride = multiply(entry.stride, extent)
        new = yield from self.visit_children(op)
        two = const(2, op.extents[0].dtype)
        doubled = structs.replace(new, extents=(two, *new.extents))
        if entry.loop not in self._loops:
            return doubled  # it is outside of the loop already
        self._allocations[entry.loop].append(doubled)
        return new.body

    def visit_for_(self, op: For) -> Any:
        """Insert the fetch of the first round before the loop."""
        self._loops.append(op)
        new: Stmt = yield from self.visit_children(op)
        self._loops.pop()
        before = self._before.pop(op, [])
        if before:
            rounds = [new] if self._split == 0 else self._written_out(new)
            new = stmt_seq(*stmt_list(SeqStmt([*before, *rounds])))
        for allocation in reversed(self._allocations.pop(op, [])):
            new = structs.replace(allocation, body=new)
        return new

    def _written_out(self, loop: Any) -> list[Stmt]:
        """Return a loop of fewer rounds, of several each, and the rounds left over."""
        var, extent = loop.loop_var, loop.extent
        if not (isinstance(loop.min, IntImm) and loop.min.value == 0):
            raise IRError(
                f"expected the loop over '{var.name}' to begin at 0, to be split, got "
                f"{loop.min!r}"
            )
        factor = const(self._split, extent.dtype)
        outer_extent = div(subtract(extent, const(1, extent.dtype)), factor)
        outer = Var(f"{var.name}.outer", var.dtype)
        first = multiply(outer, factor)
        left = cast("Stmt", _Stripped().visit(loop.body))
        inner, tail = list[Stmt](), list[Stmt]()
        for at in range(self._split):
            step = const(at, extent.dtype)
            inner.append(substitute(loop.body, {var: add(first, step)}))
            place = add(multiply(outer_extent, factor), step)
            tail.append(_if(less(place, extent), substitute(left, {var: place})))
        body = stmt_seq(*stmt_list(SeqStmt(inner)))
        of_several = For(outer, loop.min, outer_extent, loop.kind, body, span=loop.span)
        return [of_several, *tail]

    def visit_store_(self, op: Store) -> Node:
        """Store in the half that is filled."""
        return self._moved(op)

    def visit_load_(self, op: Load) -> Node:
        """Load from the half that is used."""
        return self._moved(op)

    def _moved(self, op: Store | Load) -> Node:
        new: Any = self.visit_default(op)
        entry = self._entries.get(op.buffer_var)
        if entry is None:
            return new
        if entry.loop is None:
            raise IRError(
                f"expected '{op.buffer_var.name}' to be accessed in and behind its "
                "double buffer scope alone, it is before"
            )
        half = entry.write if isinstance(op, Store) else entry.read
        index = add(multiply(half, entry.stride), new.index)
        return structs.replace(new, index=index)


class _Stripped(StmtMutator):
    """Removes what is fetched for the next round."""

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        if op.attr_key == _WRITE:
            return (yield from self.visit_child(op.body))
        return (yield from self.visit_children(op))


def _if(condition: PrimExpr, body: Stmt) -> Stmt:
    if isinstance(condition, IntImm):
        return body if condition.value else Evaluate(0)
    return IfThenElse(condition, body)


def _marked(body: Stmt) -> set[Var]:
    """Return the memory that is marked, and accessed by loads and stores alone."""
    nodes = breadth_first(body)
    found = {
        cast("Var", node.node)
        for node in nodes
        if isinstance(node, AttrStmt) and node.attr_key == _SCOPE
    }
    for node in nodes if found else ():
        if not isinstance(node, Load | Store | Allocate | AttrStmt):
            found.difference_update(cast("Any", children(node)))
    return found
