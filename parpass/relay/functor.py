"""Visitors and mutators of Relay's expressions, under TVM's names.

How they go through an expression without recursion is told in `ir/node_functor.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from parpass.ir.adt import Constructor
from parpass.ir.node import Node
from parpass.ir.node_functor import NodeFunctor, NodeMutator, NodeVisitor
from parpass.ir.operators.op_table import Op
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

_METHODS: dict[type[Node], str] = {
    Var: "visit_var",
    GlobalVar: "visit_global_var",
    Constant: "visit_constant",
    Op: "visit_op",
    Call: "visit_call",
    Tuple: "visit_tuple",
    TupleGetItem: "visit_tuple_getitem",
    Let: "visit_let",
    If: "visit_if",
    Function: "visit_function",
    Match: "visit_match",
    Clause: "visit_clause",
    Constructor: "visit_constructor",
    RefCreate: "visit_ref_create",
    RefRead: "visit_ref_read",
    RefWrite: "visit_ref_write",
}


class ExprFunctor(NodeFunctor[Expr, ResultT], kinds=_METHODS):
    """Gives every expression a result, once: subclass it and override `visit_...`."""

    def visit_var(self, var: Var) -> ResultT:
        """Give the result for a variable."""
        return self.visit_default(var)

    def visit_global_var(self, global_var: GlobalVar) -> ResultT:
        """Give the result for a reference to a global."""
        return self.visit_default(global_var)

    def visit_constant(self, const: Constant) -> ResultT:
        """Give the result for a constant."""
        return self.visit_default(const)

    def visit_op(self, op: Op) -> ResultT:
        """Give the result for an operator."""
        return self.visit_default(op)

    def visit_call(self, call: Call) -> ResultT:
        """Give the result for a call."""
        return self.visit_default(call)

    def visit_tuple(self, tup: Tuple) -> ResultT:
        """Give the result for a tuple."""
        return self.visit_default(tup)

    def visit_tuple_getitem(self, op: TupleGetItem) -> ResultT:
        """Give the result for a projection."""
        return self.visit_default(op)

    def visit_let(self, let: Let) -> ResultT:
        """Give the result for a `let`; see `let_chain` for a loop over many."""
        return self.visit_default(let)

    def visit_if(self, if_: If) -> ResultT:
        """Give the result for an `if`."""
        return self.visit_default(if_)

    def visit_function(self, fn: Function) -> ResultT:
        """Give the result for a function."""
        return self.visit_default(fn)

    def visit_match(self, match: Match) -> ResultT:
        """Give the result for a match, whose clauses were visited."""
        return self.visit_default(match)

    def visit_clause(self, clause: Clause) -> ResultT:
        """Give the result for a clause of a match, which is no expression."""
        return self.visit_default(cast("Any", clause))

    def visit_constructor(self, con: Constructor) -> ResultT:
        """Give the result for a constructor."""
        return self.visit_default(con)

    def visit_ref_create(self, ref_create: RefCreate) -> ResultT:
        """Give the result for a new reference."""
        return self.visit_default(ref_create)

    def visit_ref_read(self, ref_read: RefRead) -> ResultT:
        """Give the result for what a reference has."""
        return self.visit_default(ref_read)

    def visit_ref_write(self, ref_write: RefWrite) -> ResultT:
        """Give the result for giving a reference another value."""
        return self.visit_default(ref_write)


class ExprVisitor(NodeVisitor[Expr], ExprFunctor[None]):
    """Visits every node of an expression once, children first, for an analysis.

    Override the `visit_...` methods of the kinds you look at.
    """


class ExprMutator(NodeMutator[Expr], ExprFunctor[Expr]):
    """Rewrites an expression bottom-up; what does not change stays the same object.

    Override the `visit_...` methods of the kinds you rewrite; `super().visit_...`
    gives the node with its children rewritten. A shared node is rewritten once, and
    the result is shared.
    """

    if TYPE_CHECKING:
        # What becomes of a function is a function. What `super().visit_...` gives is a
        # node of that kind, unless a class between says otherwise.

        @overload
        def visit(self, expr: Function) -> Function: ...
        @overload
        def visit(self, expr: Expr) -> Expr: ...
        def visit(self, expr: Expr) -> Expr:
            """Return what takes the place of an expression."""
            ...

        def visit_call(self, call: Call) -> Any: ...  # noqa: D102
        def visit_tuple(self, tup: Tuple) -> Any: ...  # noqa: D102
        def visit_tuple_getitem(self, op: TupleGetItem) -> Any: ...  # noqa: D102
        def visit_let(self, let: Let) -> Any: ...  # noqa: D102
        def visit_if(self, if_: If) -> Any: ...  # noqa: D102
        def visit_function(self, fn: Function) -> Any: ...  # noqa: D102
        def visit_match(self, match: Match) -> Any: ...  # noqa: D102
        def visit_clause(self, clause: Clause) -> Any: ...  # noqa: D102
        def visit_ref_create(self, ref_create: RefCreate) -> Any: ...  # noqa: D102
        def visit_ref_read(self, ref_read: RefRead) -> Any: ...  # noqa: D102
        def visit_ref_write(self, ref_write: RefWrite) -> Any: ...  # noqa: D102


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
        rewrite: Called once with each node as it was, and with the same node after its
            children were rewritten; returns what takes its place, such as the second
            one. A variable that is bound has to stay a variable.
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


def let_chain(let: Expr) -> tuple[list[Let], Expr]:
    """Return a run of nested `let`s as a list, outermost first, and the last body."""
    chain: list[Let] = []
    while isinstance(let, Let):
        chain.append(let)
        let = let.body
    return chain, let
