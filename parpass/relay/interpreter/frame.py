"""One run through the body of a function, in the midst of evaluation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parpass.errors import EvaluationError
from parpass.ir.node import Node, children
from parpass.relay.adt import Clause, Match
from parpass.relay.binding import with_new_variables
from parpass.relay.expr import (
    Call,
    Expr,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.interpreter.matching_values import matched
from parpass.relay.interpreter.values import Closure, Value, describe, has_type


class Frame:
    """What is known so far, and what waits to be evaluated.

    Attributes:
        body: What is evaluated.
        values: The values of variables and of the nodes evaluated so far.
        parent: The frame in which the closure was made, which has the values of
            its free variables.
        stack: The nodes that wait; the last one is evaluated next.
        clauses: The clauses that matched, by match, and by themselves.
    """

    __slots__ = ("body", "clauses", "parent", "stack", "values")

    def __init__(
        self, body: Expr, values: dict[Expr, Value], parent: Frame | None
    ) -> None:
        self.body = body
        self.values = values
        self.parent = parent
        self.stack = [body]
        self.clauses: dict[Node, Clause] = {}

    def variable(self, var: Var) -> Value:
        """Return the value of a variable, bound here or further out."""
        scope: Frame | None = self
        while scope is not None:
            if var in scope.values:
                return scope.values[var]
            scope = scope.parent
        raise EvaluationError(f"expected a bound variable, got '{var.name_hint}'")

    def waits_for(self, node: Expr) -> Sequence[Expr]:
        """Return what must be evaluated before a node is, and is not yet."""
        values = self.values
        match node:
            case Call():
                return [x for x in (*node.args, node.op) if x not in values]
            case Tuple():
                return [x for x in node.fields if x not in values]
            case TupleGetItem():
                return () if node.tuple_value in values else (node.tuple_value,)
            case Let():
                return self._let_waits_for(node)
            case If():
                if node.cond not in values:
                    return (node.cond,)
                branch = self.branch(node)
                return () if branch in values else (branch,)
            case _:
                return self._others_wait_for(node)

    def _others_wait_for(self, node: Expr) -> Sequence[Expr]:
        values = self.values
        match node:
            case Match():
                if node.data not in values:
                    return (node.data,)
                rhs = self._clause(node).rhs
                return () if rhs in values else (rhs,)
            case RefCreate() | RefRead() | RefWrite():
                below: tuple[Expr, ...] = children(node)
                return [child for child in below if child not in values]
            case _:
                return ()

    def _clause(self, node: Match) -> Clause:
        """Return the clause that matches, its variables bound."""
        found = self.clauses.get(node)
        if found is None:
            value = self.values[node.data]
            for clause in node.clauses:
                if clause in self.clauses:  # of another match, with values of its own
                    clause = with_new_variables(clause)
                bound = matched(clause.lhs, value)
                if bound is not None:
                    self.values.update(bound)
                    self.clauses[node] = self.clauses[clause] = clause
                    return clause
            raise EvaluationError(
                f"expected a clause that matches {describe(value)}, got none"
            )
        return found

    def _let_waits_for(self, let: Let) -> Sequence[Expr]:
        # Binds the variable between the two waits, for its value and for its body.
        if let.var not in self.values:
            if let.value not in self.values:
                return (let.value,)
            self.values[let.var] = self.values[let.value]
        return () if let.body in self.values else (let.body,)

    def branch(self, node: If) -> Expr:
        """Return the branch that the condition chooses."""
        cond = self.values[node.cond]
        if not isinstance(cond, np.ndarray) or cond.ndim:
            raise EvaluationError(
                f"expected a scalar bool for the condition, got {describe(cond)}"
            )
        return node.true_branch if cond else node.false_branch


def enter(closure: Closure, args: Sequence[Value]) -> Frame:
    """Return a new frame of a function, its parameters bound to values."""
    params = closure.function.params
    what = f"function '{closure.name}'" if closure.name else "a function"
    if len(args) != len(params):
        raise EvaluationError(
            f"expected {len(params)} arguments for {what}, got {len(args)}"
        )
    for param, arg in zip(params, args, strict=True):
        if param.type_annotation and not has_type(arg, param.type_annotation):
            raise EvaluationError(
                f"expected {param.type_annotation} for parameter "
                f"'{param.name_hint}' of {what}, got {describe(arg)}"
            )
    bound = dict[Expr, Value](zip(params, args, strict=True))
    return Frame(closure.function.body, bound, closure.scope)
