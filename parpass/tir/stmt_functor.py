"""Visits and rewrites of programs by functions, under the names of `tvm.tir`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from parpass.errors import IRTypeError
from parpass.ir.node import Node
from parpass.ir.node.tree_size import check_tree_size
from parpass.tir.expr import PrimExpr, Var, as_prim_expr
from parpass.tir.stmt import Stmt
from parpass.tir.stmt_expr_functor import (
    StmtExprMutator,
    StmtExprVisitor,
    statements_in,
)

_VISITED = (PrimExpr, Stmt)  # what functions are called with


def post_order_visit(stmt: Node, fvisit: Callable[[Any], Any]) -> None:
    """Call a function with each statement and expression once, children first."""

    class Visitor(StmtExprVisitor):
        def visit_default(self, expr: Node) -> None:
            super().visit_default(expr)
            if isinstance(expr, _VISITED):
                fvisit(expr)

    Visitor().visit(stmt)


def ir_transform(
    stmt: Node,
    preorder: Callable[[Any], Node | None] | None = None,
    postorder: Callable[[Any], Node | None] | None = None,
    only_enable: Sequence[str] | None = None,
) -> Any:
    """Return a program rewritten by functions.

    Args:
        stmt: The program.
        preorder: Called with each node before its children; what it returns takes the
            place of the node, and is not gone into. None: the children come next.
        postorder: Called with each node after its children were rewritten; what it
            returns takes its place. None: it stays.
        only_enable: The names of the kinds, such as `tir.For`, that the functions are
            called with; all if there are none.
    """
    enabled = frozenset(only_enable or ())

    class Transformer(StmtExprMutator):
        def visit_default(self, expr: Node) -> Any:
            called = isinstance(expr, _VISITED) and (
                not enabled or f"tir.{type(expr).__name__}" in enabled
            )
            found = preorder(expr) if called and preorder is not None else None
            if found is not None:
                return found
            new = yield from self.visit_children(expr)
            found = postorder(new) if called and postorder is not None else None
            return new if found is None else found

    return Transformer().visit(stmt)


def substitute(node: Node, vmap: Mapping[Var, Any] | Callable[[Var], Any]) -> Any:
    """Return a program with expressions in the place of variables.

    Args:
        node: The program.
        vmap: The expression for a variable; a variable that has none stays. What
            stands where a variable is bound, or a pointer, has to be a variable.
    """
    if isinstance(vmap, Mapping):
        known = cast("Mapping[Var, Any]", vmap)
        return _Substitution(known.get).visit(node)
    return _Substitution(vmap).visit(node)


class _Substitution(StmtExprMutator):
    def __init__(self, look: Callable[[Var], Any]) -> None:
        super().__init__()
        self._look = look

    def visit_var_(self, op: Var) -> Node:
        found = self._look(op)
        if found is None:
            return op
        new = as_prim_expr(found)
        if new.dtype != op.dtype:
            raise IRTypeError(
                f"expected {op.dtype} in the place of variable '{op.name}', got "
                f"{new.dtype}"
            )
        return new


STATEMENT_REMEDY = (
    "statements that are used twice at each level double at each level: put a loop "
    "around the repeated part, or make it a function"
)


def check_statement_tree_size(root: Node, what: str) -> None:
    """Check that statements are not used at too many places, to go to each of them.

    Args:
        root: A statement or a function.
        what: What is counted, such as "statements to be compiled".

    Raises:
        SizeLimitError: They are.
    """
    check_tree_size(root, statements_in, what, STATEMENT_REMEDY)
