"""A hash-consing table of expressions, with facts that are derived bottom-up.

Equal expressions are the same object, so rules compare them by `is`, at any size, and
the facts about an expression are kept under it in a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast

from parpass.ir.node import Node, children, reflection
from parpass.ir.op.op_table import Op
from parpass.tir.expr import Any as AnyExpr
from parpass.tir.expr import Buffer, Call, CallEffectKind, IntImm, Let, PrimExpr, Var
from parpass.tir.expr.prim_expr import shared_int
from parpass.tir.op.builtin import call_effect

LIMIT = 100_000  # entries, before the table is emptied
_THEMSELVES = (Var, AnyExpr, Buffer, Op)  # each is equal to no other one


class ExprTable:
    """Gives every expression the first one that was equal to it.

    A call that writes, or that may do anything, is equal to no other one. Spans are no
    part of an expression.

    Attributes:
        let_values: What variables of `let`s are, by the `let`s that were entered; None
            for one that two of them define differently.
    """

    def __init__(self) -> None:
        self._first: dict[Any, Any] = {}  # an expression to the one that stands for it
        self._by_parts: dict[tuple[Any, ...], Any] = {}
        self._impure: set[Any] = set()
        self.let_values: dict[Var, PrimExpr | None] = {}

    def is_full(self) -> bool:
        """Return whether it is time to empty the table."""
        return len(self._first) > LIMIT

    def clear(self) -> None:
        """Forget all; what was given out before is unknown then."""
        self._first.clear()
        self._by_parts.clear()
        self._impure.clear()
        self.let_values.clear()

    def has(self, expr: PrimExpr) -> bool:
        """Return whether an expression was met that mentions this one, or is it."""
        return expr in self._first

    def is_impure(self, expr: PrimExpr) -> bool:
        """Return whether an expression of the table does more than give a value."""
        return expr in self._impure

    def first(self, expr: PrimExpr) -> PrimExpr:
        """Return what stands for an expression and all that are equal to it."""
        first = self._first
        if expr in first:
            return first[expr]
        stack: list[Any] = [expr]
        while stack:
            node = stack.pop()
            if node in first:
                continue
            waiting = [child for child in _below(node) if child not in first]
            if waiting:
                stack.append(node)
                stack += reversed(waiting)
            else:
                self._enter(node)
        return first[expr]

    def node(self, kind: type[PrimExpr], *parts: Any) -> Any:
        """Return a node by its kind and its children, which are of the table."""
        key = (kind, *map(id, parts))
        found = self._by_parts.get(key)
        if found is None:
            found = self._by_parts[key] = kind(*parts)
            self._add(found, parts)
        return found

    def imm(self, dtype: str, value: int) -> IntImm:
        """Return an int that the dtype has."""
        key = (IntImm, dtype, value)
        found = self._by_parts.get(key)
        if found is None:
            found = self._by_parts[key] = shared_int(dtype, value)
            self._first[found] = found
        return found

    def rebuilt(self, node: Any, parts: list[Any]) -> Any:
        """Return a node with other children, which are of the table."""
        if all(map(_same, parts, children(node))):
            return self.first(node)
        return self.first(
            reflection(cast("type[Node]", type(node))).rebuild(node, parts)
        )

    def _enter(self, node: Any) -> None:
        if isinstance(node, IntImm):
            self._first[node] = self.imm(node.dtype, node.value)
            return
        first = self._first
        below = _below(node)
        if not below and isinstance(node, _THEMSELVES):
            first[node] = node
            return
        parts = [first[child] for child in below]
        kind = cast("type[Node]", type(node))
        fields = reflection(kind)
        key = (kind, *map(id, parts), *_hashable(fields.structure(node)))
        found = self._by_parts.get(key)
        if found is not None and not _is_impure(node):
            first[node] = found
            return
        changes = not all(map(_same, parts, below))
        made = fields.rebuild(node, parts) if changes else node
        self._by_parts[key] = made
        first[node] = made
        self._add(made, parts)
        if isinstance(made, Let):
            known = self.let_values.get(made.var, made.value)
            self.let_values[made.var] = made.value if known is made.value else None

    def _add(self, node: Any, parts: Any) -> None:
        self._first[node] = node
        impure = self._impure
        if _is_impure(node) or (impure and any(part in impure for part in parts)):
            impure.add(node)


def _same(one: object, other: object) -> bool:
    return one is other


def _below(node: Any) -> Any:
    return () if type(node) is Buffer else children(node)


def _is_impure(node: Any) -> bool:
    if not isinstance(node, Call):
        return False
    op = node.op
    return not isinstance(op, Op) or call_effect(op) > CallEffectKind.ReadState


def _hashable(values: list[Any]) -> Iterator[Any]:
    """Yield plain values as keys; what has no hash is equal to itself alone."""
    for value in values:
        if isinstance(value, float):  # 0.0 == -0.0, and nan != nan
            yield value.hex()
        else:
            try:
                hash(value)
            except TypeError:
                yield id(value)
            else:
                yield (type(value), value)


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
