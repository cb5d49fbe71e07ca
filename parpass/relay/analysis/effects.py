"""Side effects of expressions: `relay.op.effect`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, cast

from parpass.ir.adt import Constructor, TypeCall
from parpass.ir.module import IRModule
from parpass.ir.node import Node, breadth_first, children
from parpass.ir.op.op_table import Effect, Op
from parpass.ir.types import FuncType, Type
from parpass.ir.types.type_structure import extent
from parpass.relay.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Var,
)
from parpass.relay.op.declaration.type_relations import same_value

# How many nodes of a rewrite's result are looked at to find what it has kept.
_NEAR = 64

_NONE: Mapping[Expr, Expr] = MappingProxyType({})


class _Visit(NamedTuple):
    """A node as evaluated, or also as called: functions that it yields count then."""

    node: Expr
    called: bool


class Effects:
    """Computes the effects of expressions: the greatest of calls, reads and writes.

    Creating a closure has no effect; calling it has those of its body. Functions that
    are parameters, or that the module does not define, have unknown effects.

    Args:
        let_values: The values of variables that are bound around the expressions; more
            may be added before they are needed.
        mod: Defines the global functions that they call.
        unknown: The effect assumed for calls of unknown functions.
    """

    def __init__(
        self,
        let_values: Mapping[Expr, Expr] = _NONE,
        mod: IRModule | None = None,
        unknown: Effect = Effect.WRITES,
    ) -> None:
        self._functions: Mapping[str, Function]
        self._functions = mod.functions_by_name if mod is not None else {}
        self._outer_values = let_values
        self._unknown = unknown
        self._inner_values: dict[Expr, Expr] = {}
        self._known: dict[_Visit, Effect] = {}

    def is_pure(self, expr: Expr) -> bool:
        """Return whether an expression may be copied, moved, or merged with another."""
        return self.of(expr) is Effect.PURE

    def may_drop(self, *exprs: Expr) -> bool:
        """Return whether expressions may be dropped if their values are unused."""
        return all(self.of(expr) is not Effect.WRITES for expr in exprs)

    def survive(self, before: Expr, after: Expr) -> bool:
        """Return whether a rewrite of a few nodes keeps all calls that write."""
        waiting = self._writing(before)
        near = set[Node](breadth_first(after, _NEAR)) if waiting else ()
        while waiting:
            node = waiting.pop()
            if node in near:
                continue
            if _writes_itself(node):
                return False
            waiting += self._writing(node)
        return True

    def _writing(self, node: Expr) -> list[Expr]:
        return [child for child in children(node) if not self.may_drop(child)]

    def of(self, expr: Expr) -> Effect:
        """Return the effect of evaluating an expression."""
        root = _Visit(expr, called=False)
        if root in self._known:
            return self._known[root]
        found, waiting = Effect.PURE, [root]
        seen = set(waiting)
        while waiting and found is not Effect.WRITES:
            node, called = waiting.pop()
            found = max(found, _own_effect(node))
            if isinstance(node, Let):
                self._inner_values[node.var] = node.value
            elif isinstance(node, Call) and not isinstance(node.op, Op | Constructor):
                called = True
                if self._is_undetermined(node.op):
                    found = max(found, self._unknown)
            if called and self._is_unknown(node):
                found = max(found, self._unknown)
            for child in self._called(node) if called else _evaluated(node):
                below = _Visit(child, called)
                known = self._known.get(below)
                if known is not None:
                    found = max(found, known)
                elif below not in seen:
                    seen.add(below)
                    waiting.append(below)
        # Of the nodes below, only those without any effect are known by this.
        pure = seen if found is Effect.PURE else ()
        self._known.update(dict.fromkeys(pure, found))
        self._known[root] = found
        return found

    def _is_unknown(self, node: Expr) -> bool:
        """Return whether this stands for unknown functions."""
        if isinstance(node, GlobalVar):
            return node.name_hint not in self._functions
        if isinstance(node, RefRead):
            return True
        if not isinstance(node, Var) or self._value_of(node) is not None:
            return False
        return _has_functions(node.type_annotation or node.checked_type_)

    def _is_undetermined(self, callee: Expr) -> bool:
        """Return whether this is a variable of unknown type."""
        if not isinstance(callee, Var) or self._value_of(callee) is not None:
            return False
        return callee.type_annotation is None and callee.checked_type_ is None

    def _called(self, node: Expr) -> tuple[Expr, ...]:
        if isinstance(node, GlobalVar):
            function = self._functions.get(node.name_hint)
            return () if function is None else (function,)
        if isinstance(node, Var):
            value = self._value_of(node)
            return () if value is None or _gives_tensors(value) else (value,)
        return children(node)

    def _value_of(self, var: Var) -> Expr | None:
        return self._inner_values.get(var, self._outer_values.get(var))


def effects_across_blocks(
    order: Sequence[Node], crossing: Iterable[Node], mod: IRModule | None = None
) -> list[Expr]:
    """Return expressions with effects that are used in several blocks without a `let`.

    Args:
        order: The nodes of an expression in post-order.
        crossing: Those of `used_across_blocks`.
        mod: Defines the global functions that they call.
    """
    values: dict[Expr, Expr] = {it.var: it.value for it in order if isinstance(it, Let)}
    effects = Effects(values, mod, unknown=Effect.PURE)
    among = set(crossing)
    found = [cast("Expr", node) for node in order if node in among]
    return [node for node in found if not effects.is_pure(node)]


def _evaluated(node: Expr) -> tuple[Expr, ...]:
    return () if isinstance(node, Function) else children(node)


def _own_effect(node: Expr) -> Effect:
    """Return the effect of a node itself, without those below it.

    Each evaluation of a reference's creation gives a new one, so two are not equal.
    """
    if isinstance(node, Call):
        return node.op.effect if isinstance(node.op, Op) else Effect.PURE
    return _OF_REFERENCES.get(type(node), Effect.PURE)


_OF_REFERENCES: dict[type[Expr], Effect] = {
    RefCreate: Effect.READS,
    RefRead: Effect.READS,
    RefWrite: Effect.WRITES,
}


def _writes_itself(node: Expr) -> bool:
    if isinstance(node, Call) and not isinstance(node.op, Op):
        return not isinstance(node.op, Constructor)
    return _own_effect(node) is Effect.WRITES


def _has_functions(type_: Type | None) -> bool:
    """Return whether values of a type may be, or contain, functions."""
    if type_ is None:
        return False
    return not _MAY_HAVE_FUNCTIONS.isdisjoint(extent(type_).kinds)


_MAY_HAVE_FUNCTIONS = frozenset({FuncType, TypeCall})


def _gives_tensors(expr: Expr) -> bool:
    """Return whether this is a call of an operator, whose result is no function.

    The exceptions are annotations of functions, such as `stop_fusion`.
    """
    if not isinstance(expr, Call) or not isinstance(expr.op, Op):
        return False
    return expr.op.relation is not same_value
