"""Visitors and mutators of statements, and of expressions in them, under TVM's names.

How they go through a program without recursion, and how a method can do something
before and after the children, is told in `ir/node_functor.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

from parpass.ir.node import Node, reflection
from parpass.ir.node_functor import NodeFunctor, NodeMutator, NodeVisitor
from parpass.tir.expr_functor import EXPR_METHODS, LEAVES, ExprFunctor
from parpass.tir.function import PrimFunc
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import (
    STMT_KINDS,
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    Store,
    While,
)

ResultT = TypeVar("ResultT")

STMT_METHODS: dict[type[Node], str] = {
    LetStmt: "visit_let_stmt_",
    AttrStmt: "visit_attr_stmt_",
    AssertStmt: "visit_assert_stmt_",
    For: "visit_for_",
    While: "visit_while_",
    Store: "visit_store_",
    BufferStore: "visit_buffer_store_",
    BufferRealize: "visit_buffer_realize_",
    Allocate: "visit_allocate_",
    SeqStmt: "visit_seq_stmt_",
    IfThenElse: "visit_if_then_else_",
    Evaluate: "visit_evaluate_",
    PrimFunc: "visit_prim_func_",
}


def _statements(node: Any) -> list[Any]:
    below = reflection(cast("type[Node]", type(node))).children(node)
    return [child for child in below if type(child) in STMT_KINDS]


class StmtFunctor(NodeFunctor[Node, ResultT], kinds=STMT_METHODS):
    """Gives every statement a result, once: subclass it, override `visit_..._`.

    The expressions in statements are not visited.
    """

    @staticmethod
    def below(kind: type[Node]) -> Callable[[Any], list[Any]]:
        """Return what gives the statements in a statement."""
        del kind
        return _statements

    def visit_stmt(self, stmt: Stmt) -> ResultT:
        """Give the result for a statement; TVM's name for `visit`."""
        return self.visit(stmt)

    def visit_let_stmt_(self, op: LetStmt) -> ResultT:
        """Give the result for a `let`."""
        return self.visit_default(op)

    def visit_attr_stmt_(self, op: AttrStmt) -> ResultT:
        """Give the result for an attribute."""
        return self.visit_default(op)

    def visit_assert_stmt_(self, op: AssertStmt) -> ResultT:
        """Give the result for an assertion."""
        return self.visit_default(op)

    def visit_for_(self, op: For) -> ResultT:
        """Give the result for a loop."""
        return self.visit_default(op)

    def visit_while_(self, op: While) -> ResultT:
        """Give the result for a `while`."""
        return self.visit_default(op)

    def visit_store_(self, op: Store) -> ResultT:
        """Give the result for a store to memory."""
        return self.visit_default(op)

    def visit_buffer_store_(self, op: BufferStore) -> ResultT:
        """Give the result for a store to a buffer."""
        return self.visit_default(op)

    def visit_buffer_realize_(self, op: BufferRealize) -> ResultT:
        """Give the result for a realization."""
        return self.visit_default(op)

    def visit_allocate_(self, op: Allocate) -> ResultT:
        """Give the result for an allocation."""
        return self.visit_default(op)

    def visit_seq_stmt_(self, op: SeqStmt) -> ResultT:
        """Give the result for a sequence."""
        return self.visit_default(op)

    def visit_if_then_else_(self, op: IfThenElse) -> ResultT:
        """Give the result for an `if`."""
        return self.visit_default(op)

    def visit_evaluate_(self, op: Evaluate) -> ResultT:
        """Give the result for an evaluation."""
        return self.visit_default(op)

    def visit_prim_func_(self, func: PrimFunc) -> ResultT:
        """Give the result for a function."""
        return self.visit_default(func)


class StmtVisitor(NodeVisitor[Node], StmtFunctor[None]):
    """Visits every statement once, those in it first, for an analysis."""

    def visit_default(self, expr: Node) -> None:
        """Visit the statements in a statement."""
        for child in _statements(expr):
            self.visit(child)

    def visit_children(self, expr: Node) -> Generator[Node, None, None]:
        """Visit the same, for methods that are generators: `yield from` this."""
        yield from _statements(expr)


class StmtMutator(NodeMutator[Node], StmtFunctor[Node]):
    """Rewrites statements bottom-up; what does not change stays the same object."""

    def visit_stmt(self, stmt: Stmt) -> Stmt:
        """Return a statement rewritten; TVM's name for `visit`."""
        return cast("Stmt", self.visit(stmt))

    def visit_default(self, expr: Node) -> Node:
        """Return a statement with the statements in it rewritten."""
        return _rebuilt(expr, [self.visit(child) for child in _statements(expr)])

    def visit_children(self, expr: Node) -> Generator[Node, Node, Any]:
        """Return the same, for methods that are generators: `yield from` this."""
        new: list[Node] = []
        for child in _statements(expr):
            rewritten = yield child
            new.append(rewritten)
        return _rebuilt(expr, new)


def _rebuilt(node: Node, statements: list[Node]) -> Node:
    """Return a node with other statements in the place of its own."""
    new, fields = iter(statements), reflection(type(node))
    old = fields.children(node)
    now = [next(new) if type(child) in STMT_KINDS else child for child in old]
    if all(before is after for before, after in zip(old, now, strict=True)):
        return node
    return fields.rebuild(node, now)


class StmtExprFunctor(
    StmtFunctor[ResultT],
    ExprFunctor[ResultT],
    kinds={**EXPR_METHODS, **STMT_METHODS},
    leaves=LEAVES,
):
    """Gives every statement and every expression a result, once."""

    @staticmethod
    def below(kind: type[Node]) -> Callable[[Any], Any]:
        """Return what gives the statements and expressions in a node."""
        return reflection(kind).children


class StmtExprVisitor(NodeVisitor[Node], StmtExprFunctor[None]):
    """Visits every node of a program once, children first, for an analysis."""


class StmtExprMutator(NodeMutator[Node], StmtExprFunctor[Node]):
    """Rewrites a program bottom-up; what does not change stays the same object.

    What `ExprMutator` says of shared nodes is true of statements, too.
    """

    def visit_stmt(self, stmt: Stmt) -> Stmt:
        """Return a statement rewritten; TVM's name for `visit`."""
        return cast("Stmt", self.visit(stmt))

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        """Return an expression rewritten; TVM's name for `visit`."""
        return cast("PrimExpr", self.visit(expr))
