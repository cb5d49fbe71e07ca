"""What is told of an expression by what is told of its parts, with what is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast

from parpass.ir.node import children
from parpass.tir.arith.expr_table import ExprTable
from parpass.tir.expr import Let, Var

T = TypeVar("T")


class BottomUp(Generic[T]):
    """Gives every expression of a table a value, its parts first, without recursion.

    A subclass has a rule for each kind that it knows, which is given the expression and
    the values of its children; all else has `unknown`.

    Attributes:
        memo: The values so far; to be emptied when facts change.
    """

    rules: ClassVar[Mapping[type[Any], Callable[..., Any]]] = {}

    def __init__(self, table: ExprTable) -> None:
        self._table = table
        self.memo: dict[Any, T] = {}

    def unknown(self, expr: Any) -> T:
        """Return the value of an expression of which no rule tells more."""
        raise NotImplementedError

    def narrowed(self, expr: Any, value: T) -> T:
        """Return the value of an expression, with what else is known of it."""
        raise NotImplementedError

    def of(self, expr: Any) -> T:
        """Return the value of an expression of the table."""
        memo = self.memo
        if expr in memo:
            return memo[expr]
        stack = [expr]
        while stack:
            node = stack[-1]
            if node in memo:
                stack.pop()
                continue
            parts = self._parts(node)
            waiting = [part for part in parts if part not in memo]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            memo[node] = self.narrowed(node, self._value(node, parts))
        return memo[expr]

    def _parts(self, node: Any) -> Any:
        if isinstance(node, Var):
            value = self._table.let_values.get(node)
            return () if value is None else (value,)
        if isinstance(node, Let):
            return (node.body,)
        return children(node) if type(node) in self.rules else ()

    def _value(self, node: Any, parts: Any) -> T:
        if isinstance(node, Var | Let):
            return self.memo[parts[0]] if parts else self.unknown(node)
        rule = self.rules.get(cast("type[Any]", type(node)))
        if rule is None:
            return self.unknown(node)
        return rule(self, node, *[self.memo[part] for part in parts])
