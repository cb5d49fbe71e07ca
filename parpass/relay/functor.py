"""Visitors and mutators of Relay's expressions, under TVM's names.

The traversal without recursion is described in `ir/node/node_functor.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from parpass.ir.adt import Constructor
from parpass.ir.node.node_functor import NodeFunctor, NodeMutator, NodeVisitor, visits
from parpass.ir.op.op_table import Op
from parpass.relay.adt import Clause, Match
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)

ResultT = TypeVar("ResultT")


class ExprFunctor(NodeFunctor[Expr, ResultT]):
    """Computes one result for each node of an expression; override `visit_...`."""

    visit_var = visits(Var)
    visit_global_var = visits(GlobalVar)
    visit_constant = visits(Constant)
    visit_op = visits(Op)
    visit_call = visits(Call)
    visit_tuple = visits(Tuple)
    visit_tuple_getitem = visits(TupleGetItem)
    visit_let = visits(Let)
    visit_if = visits(If)
    visit_function = visits(Function)
    visit_match = visits(Match)
    visit_clause = visits(Clause)
    visit_constructor = visits(Constructor)
    visit_ref_create = visits(RefCreate)
    visit_ref_read = visits(RefRead)
    visit_ref_write = visits(RefWrite)


class ExprVisitor(NodeVisitor[Expr], ExprFunctor[None]):
    """Visits every node of an expression once, children first, for an analysis.

    Override the `visit_...` methods of the relevant kinds of nodes.
    """


class ExprMutator(NodeMutator[Expr], ExprFunctor[Expr]):
    """Rewrites an expression bottom-up; an unchanged node stays one object.

    Override the `visit_...` methods of the kinds to rewrite; `super().visit_...` gives
    the node with its children rewritten. A shared node is rewritten once, and the
    result is shared.
    """

    if TYPE_CHECKING:
        # A function's result is a function.

        @overload
        def visit(self, expr: Function) -> Function: ...
        @overload
        def visit(self, expr: Expr) -> Expr: ...
        def visit(self, expr: Expr) -> Expr:
            """Return the replacement of an expression."""
            ...


@overload
def post_order_rewrite(
    expr: Function, rewrite: Callable[[Any, Expr], Expr]
) -> Function: ...
@overload
def post_order_rewrite(expr: Expr, rewrite: Callable[[Any, Expr], Expr]) -> Expr: ...
def post_order_rewrite(expr: Expr, rewrite: Callable[[Any, Expr], Expr]) -> Expr:
    """Return an expression rewritten node by node, children before parents.

    Args:
        expr: The expression.
        rewrite: Called once with each node before, and after, its children were
            rewritten; returns the replacement, such as its second argument. A variable
            that is bound has to stay a variable.
    """
    return _PostOrderRewriter(rewrite).visit(expr)


class _PostOrderRewriter(ExprMutator):
    def __init__(self, rewrite: Callable[[Any, Expr], Expr]) -> None:
        super().__init__()
        self._rewrite = rewrite

    def visit_default(self, expr: Expr) -> Expr:
        return self._rewrite(expr, super().visit_default(expr))

    def visit_clause(self, clause: Clause) -> Any:
        return ExprMutator.visit_default(
            self, cast("Any", clause)
        )  # it is no expression
