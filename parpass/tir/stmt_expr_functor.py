"""Visitors and mutators of statements, and of expressions in them, under TVM's names.

`ir/node/node_functor.py` documents how they traverse a program without recursion, and
how a method can act before and after the children.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

from parpass.ir.node import Node, reflection
from parpass.ir.node.node_functor import NodeFunctor, NodeMutator, NodeVisitor, visits
from parpass.tir.expr import PrimExpr
from parpass.tir.expr_functor import ExprFunctor
from parpass.tir.function import PrimFunc
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


def statements_in(node: Any) -> list[Any]:
    """Return the statements that are children of a node, in order."""
    below = reflection(cast("type[Node]", type(node))).children(node)
    return [child for child in below if type(child) in STMT_KINDS]


class StmtFunctor(NodeFunctor[Node, ResultT]):
    """Computes one result for every statement: subclass it, override `visit_..._`.

    It does not visit the expressions in statements.
    """

    @staticmethod
    def below(kind: type[Node]) -> Callable[[Any], list[Any]]:
        """Return what gives the statements in a statement."""
        del kind
        return statements_in

    def visit_stmt(self, stmt: Stmt) -> ResultT:
        """Return the result for a statement; TVM's name for `visit`."""
        return self.visit(stmt)

    visit_let_stmt_ = visits(LetStmt)
    visit_attr_stmt_ = visits(AttrStmt)
    visit_assert_stmt_ = visits(AssertStmt)
    visit_for_ = visits(For)
    visit_while_ = visits(While)
    visit_store_ = visits(Store)
    visit_buffer_store_ = visits(BufferStore)
    visit_buffer_realize_ = visits(BufferRealize)
    visit_allocate_ = visits(Allocate)
    visit_seq_stmt_ = visits(SeqStmt)
    visit_if_then_else_ = visits(IfThenElse)
    visit_evaluate_ = visits(Evaluate)
    visit_prim_func_ = visits(PrimFunc)


class StmtVisitor(NodeVisitor[Node], StmtFunctor[None]):
    """Visits every statement once, inner ones first, for an analysis."""

    def visit_default(self, expr: Node) -> None:
        """Visit the statements in a statement."""
        for child in statements_in(expr):
            self.visit(child)

    def visit_children(self, expr: Node) -> Generator[Node, None, None]:
        """Visit the same, for methods that are generators: `yield from` this."""
        yield from statements_in(expr)


class StmtMutator(NodeMutator[Node], StmtFunctor[Node]):
    """Rewrites statements bottom-up; unchanged statements stay the same objects."""

    def visit_stmt(self, stmt: Stmt) -> Stmt:
        """Return a statement rewritten; TVM's name for `visit`."""
        return cast("Stmt", self.visit(stmt))

    def visit_default(self, expr: Node) -> Node:
        """Return a statement with the statements in it rewritten."""
        return _rebuilt(expr, [self.visit(child) for child in statements_in(expr)])

    def visit_children(self, expr: Node) -> Generator[Node, Node, Any]:
        """Return the same, for methods that are generators: `yield from` this."""
        new: list[Node] = []
        for child in statements_in(expr):
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


class StmtExprFunctor(StmtFunctor[ResultT], ExprFunctor[ResultT]):
    """Computes one result for every statement and every expression."""

    @staticmethod
    def below(kind: type[Node]) -> Callable[[Any], Any]:
        """Return what gives the statements and expressions in a node."""
        return reflection(kind).children


class StmtExprVisitor(NodeVisitor[Node], StmtExprFunctor[None]):
    """Visits every node of a program once, children first, for an analysis."""


class StmtExprMutator(NodeMutator[Node], StmtExprFunctor[Node]):
    """Rewrites a program bottom-up; unchanged nodes stay the same objects.

    Shared statements are handled like shared nodes; see `ExprMutator`.
    """

    def visit_stmt(self, stmt: Stmt) -> Stmt:
        """Return a statement rewritten; TVM's name for `visit`."""
        return cast("Stmt", self.visit(stmt))

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        """Return an expression rewritten; TVM's name for `visit`."""
        return cast("PrimExpr", self.visit(expr))
