"""Visitors and mutators of loop programs, at any depth, and by functions."""

from __future__ import annotations

from typing import Any, cast

import pytest

from parpass import tir
from parpass.errors import IRTypeError
from parpass.ir.node import Node
from parpass.tir import stmt_functor

DEEP = 3_000
A = tir.decl_buffer((16,), "int32", "A")


def nest(count: int) -> tuple[tir.Stmt, tir.Var]:
    x = tir.Var("x", "int32")
    body: tir.Stmt = tir.BufferStore(A, x, (x,))
    for at in range(count):
        body = tir.For(tir.Var(f"i{at}", "int32"), 0, 2, 0, body)
    return body, x


class _Loops(tir.StmtExprVisitor):
    """Finds how deep in loops each store is."""

    def __init__(self) -> None:
        super().__init__()
        self.around: list[str] = []
        self.found: list[tuple[str, ...]] = []

    def visit_for_(self, op: tir.For) -> Any:
        self.around.append(op.loop_var.name)
        yield from self.visit_children(op)
        self.around.pop()

    def visit_buffer_store_(self, op: tir.BufferStore) -> None:
        self.found.append(tuple(self.around))


def test_a_method_sees_a_node_before_and_after_its_children():
    visitor = _Loops()
    visitor.visit(nest(3)[0])
    assert visitor.found == [("i2", "i1", "i0")]
    assert visitor.around == []


def test_a_method_that_waits_for_its_children_does_so_at_any_depth():
    visitor = _Loops()
    visitor.visit(nest(DEEP)[0])
    assert len(visitor.found[0]) == DEEP


def test_an_error_ends_the_methods_that_wait():
    ended: list[str] = []

    class Failing(tir.StmtExprVisitor):
        def visit_for_(self, op: tir.For) -> Any:
            try:
                yield op.body
            finally:
                ended.append(op.loop_var.name)

        def visit_buffer_store_(self, op: tir.BufferStore) -> None:
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        Failing().visit(nest(2)[0])
    assert ended == ["i0", "i1"]


class _Unrolled(tir.StmtExprMutator):
    """Unrolls all loops: the result of a node depends on where it stands."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[tir.Var, tir.PrimExpr] = {}

    def visit_for_(self, op: tir.For) -> Any:
        outside, bodies = self.memo_map, list[tir.Stmt]()
        for at in range(op.extent.value):
            self.memo_map = {}
            self.values[op.loop_var] = op.min + at
            bodies.append(cast("Any", (yield op.body)))
        self.memo_map = outside
        return tir.SeqStmt(bodies)

    def visit_var_(self, op: tir.Var) -> Node:
        return self.values.get(op, op)


def test_a_scope_has_results_of_its_own():
    i = tir.Var("i", "int32")
    loop = tir.For(i, 3, 4, 0, tir.BufferStore(A, i, (i + 1,)))
    found: Any = _Unrolled().visit(loop)
    assert [store.value.value for store in found.seq] == [3, 4, 5, 6]
    assert [type(store.indices[0]) for store in found.seq] == [tir.Add] * 4


def test_what_does_not_change_is_the_same_object():
    body, _ = nest(5)
    assert tir.StmtExprMutator().visit(body) is body
    assert tir.StmtMutator().visit(body) is body
    assert stmt_functor.substitute(body, {}) is body
    assert stmt_functor.ir_transform(body, None, None) is body


class _Renamed(tir.StmtMutator):
    def visit_for_(self, op: tir.For) -> Any:
        body = cast("Any", (yield op.body))
        return tir.For(op.loop_var, op.min, op.extent, tir.ForKind.UNROLLED, body)


def test_statements_are_rewritten_without_their_expressions():
    body, _ = nest(DEEP)
    found: Any = _Renamed().visit(body)
    assert found.kind == found.body.kind == tir.ForKind.UNROLLED

    class Seen(tir.StmtVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.kinds: list[type[Node]] = []

        def visit_default(self, expr: Node) -> None:
            super().visit_default(expr)
            self.kinds.append(type(expr))

    seen = Seen()
    seen.visit(nest(2)[0])
    assert seen.kinds == [tir.BufferStore, tir.For, tir.For]


def test_expressions_are_rewritten_at_any_depth():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    value: tir.PrimExpr = x
    for _ in range(DEEP):
        value = tir.Add(value, 1)
    found: Any = stmt_functor.substitute(value, {x: y})
    for _ in range(DEEP):
        found = found.a
    assert found is y


def test_variables_are_substituted_in_expressions_and_memory():
    body, x = nest(2)
    found: Any = stmt_functor.substitute(body, {x: 3})
    assert found.body.body.indices[0].value == 3
    pointer, other = A.data, tir.decl_buffer((4,), "int32").data
    load = tir.Load("int32", pointer, x)
    assert stmt_functor.substitute(load, {pointer: other}).buffer_var is other
    with pytest.raises(
        IRTypeError, match="expected int32 in the place of variable 'x'"
    ):
        stmt_functor.substitute(body, {x: 1.5})


def test_buffers_are_leaves():
    n = tir.Var("n", "int32")
    buffer = tir.decl_buffer((n,), "int32", "B")
    load = tir.BufferLoad(buffer, (n,))
    found = stmt_functor.substitute(load, {n: 4})
    assert found.buffer is buffer
    assert found.indices[0].value == 4


def test_functions_are_called_with_each_node_once_children_first():
    body, x = nest(1)
    seen: list[Any] = []
    stmt_functor.post_order_visit(body, seen.append)
    assert [type(one).__name__ for one in seen][-2:] == ["BufferStore", "For"]
    assert sum(one is x for one in seen) == 1


def test_functions_rewrite_what_they_are_called_with():
    body, _ = nest(3)

    def preorder(op: Any) -> Any:
        if op.loop_var.name == "i1":
            return tir.Evaluate(7)
        return None

    found = stmt_functor.ir_transform(body, preorder, None, ["tir.For"])
    assert isinstance(found, tir.For)
    assert isinstance(found.body, tir.Evaluate)

    def postorder(op: Any) -> Any:
        return tir.IntImm("int32", 5) if op.value == 2 else None

    found = stmt_functor.ir_transform(body, None, postorder, ["tir.IntImm"])
    assert found.extent.value == found.body.extent.value == 5
    deep = nest(DEEP)[0]
    assert stmt_functor.ir_transform(deep, lambda op: None, lambda op: None) is deep


def test_a_node_of_another_ir_is_refused():
    from parpass import relay

    class Waiting(tir.StmtExprVisitor):
        def visit_for_(self, op: tir.For) -> Any:
            yield relay.var("x")

    for visitor in (tir.StmtExprVisitor(), Waiting()):
        with pytest.raises(IRTypeError, match="expected an expression, got Var"):
            visitor.visit(relay.var("x"))
    with pytest.raises(IRTypeError, match="expected an expression, got Var"):
        Waiting().visit(nest(1)[0])
