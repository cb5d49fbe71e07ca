"""A frame: one evaluation of a function's body; and matching values with patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from parpass.errors import EvaluationError
from parpass.ir.node import Node, children
from parpass.relay.adt import (
    Clause,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
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
from parpass.relay.interpreter.values import (
    Closure,
    ConstructorValue,
    Value,
    describe,
    has_type,
)


def bound_again(var: Expr, what: str) -> EvaluationError:
    """Return the error that a variable is bound again, where its value is known."""
    return EvaluationError(
        f"expected variable '{getattr(var, 'name_hint', '')}' to be bound once, got it "
        f"bound again by a {what}; give each binding a Var of its own"
    )


def matched(pattern: Pattern, value: Value) -> dict[Expr, Value] | None:
    """Return the values of a pattern's variables; None if it does not match.

    Raises:
        EvaluationError: The pattern binds a variable twice.
    """
    bound: dict[Expr, Value] = {}
    waiting: list[tuple[Pattern, Value]] = [(pattern, value)]
    while waiting:
        pattern, value = waiting.pop()
        if isinstance(pattern, PatternVar):
            if pattern.var in bound:
                raise bound_again(pattern.var, "part of its pattern")
            bound[pattern.var] = value
            continue
        fields: tuple[Value, ...] = ()
        if isinstance(pattern, PatternConstructor):
            if not _is_made_by(value, pattern):
                return None
            fields = value.fields
        elif isinstance(pattern, PatternTuple):
            if not isinstance(value, tuple):
                return None
            fields = cast("tuple[Value, ...]", value)
        if len(fields) != len(pattern.inside):
            return None
        waiting += zip(pattern.inside, fields, strict=True)
    return bound


def _is_made_by(value: Value, pattern: PatternConstructor) -> bool:
    if not isinstance(value, ConstructorValue):
        return False
    mine, other = value.constructor, pattern.constructor
    return mine is other or (
        mine.name_hint == other.name_hint and mine.belong_to == other.belong_to
    )


class Frame:
    """The environment and the work stack of one evaluation.

    Attributes:
        body: The expression that is evaluated.
        values: The values of variables and of the nodes evaluated so far.
        parent: The frame in which the closure was made, which has the values of its
            free variables.
        stack: The nodes to be evaluated, the last one first.
        clauses: The clauses that matched, by match, and by themselves.
        bound: The `let`s and clauses whose variables have values.
    """

    __slots__ = ("body", "bound", "clauses", "parent", "stack", "values")

    def __init__(
        self, body: Expr, values: dict[Expr, Value], parent: Frame | None
    ) -> None:
        self.body = body
        self.values = values
        self.parent = parent
        self.stack = [body]
        self.clauses: dict[Node, Clause] = {}
        self.bound: set[Node] = set()

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
                    self._bind(bound, clause)
                    self.clauses[node] = self.clauses[clause] = clause
                    return clause
            raise EvaluationError(
                f"expected a clause that matches {describe(value)}, got none"
            )
        return found

    def _let_waits_for(self, let: Let) -> Sequence[Expr]:
        # Binds the variable between the two waits, for its value and for its body.
        if let not in self.bound:
            if let.value not in self.values:
                return (let.value,)
            self._bind({let.var: self.values[let.value]}, let)
        return () if let.body in self.values else (let.body,)

    def _bind(self, values: Mapping[Expr, Value], binder: Node) -> None:
        """Give variables their values, which nodes evaluated so far may depend on.

        Raises:
            EvaluationError: One is bound already.
        """
        for var in values:
            if var in self.values:
                raise bound_again(var, type(binder).__name__)
        self.values.update(values)
        self.bound.add(binder)

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
    if len(bound) < len(params):
        twice = next(var for var in params if params.count(var) > 1)
        raise bound_again(twice, f"parameter of {what}")
    return Frame(closure.function.body, bound, closure.scope)
