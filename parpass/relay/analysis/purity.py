"""Whether evaluating an expression may have an effect."""

from __future__ import annotations

from collections.abc import Mapping

from parpass.relay.expr import Call, Expr, Function, GlobalVar, Let, Var
from parpass.relay.module import IRModule
from parpass.relay.node import children
from parpass.relay.op.registry import Op
from parpass.relay.ty import FuncType, Type, extent


class Purity:
    """Tells expressions that call no stateful operator from those that may.

    Creating a closure has no effect, calling it has those of its body. Functions that
    a parameter stands for, or that the module does not have, are taken to have some.

    Args:
        let_values: The values of variables that are bound around the expressions.
        mod: Has the global functions that they call.
    """

    def __init__(
        self, let_values: Mapping[Expr, Expr], mod: IRModule | None = None
    ) -> None:
        self._functions: Mapping[str, Function]
        self._functions = mod.functions_by_name if mod is not None else {}
        self._outer_values = let_values
        self._inner_values: dict[Expr, Expr] = {}
        self._pure: set[tuple[Expr, bool]] = set()

    def is_pure(self, expr: Expr) -> bool:
        """Return whether evaluating an expression calls no stateful operator."""
        # A node is looked at in one of two ways: as evaluated, or also as called, which
        # is to look into the functions that it may give.
        waiting = [(expr, False)]
        seen = set(waiting)
        while waiting:
            node, called = waiting.pop()
            if isinstance(node, Let):
                self._inner_values[node.var] = node.value
            elif isinstance(node, Call):
                if isinstance(node.op, Op) and node.op.stateful:
                    return False
                called = called or not isinstance(node.op, Op)
            if called and self._is_unknown(node):
                return False
            below = self._called(node) if called else self._evaluated(node)
            fresh = [(child, called) for child in below]
            fresh = [it for it in fresh if it not in seen and it not in self._pure]
            seen.update(fresh)
            waiting += fresh
        self._pure |= seen
        return True

    def _evaluated(self, node: Expr) -> tuple[Expr, ...]:
        return () if isinstance(node, Function) else children(node)

    def _is_unknown(self, node: Expr) -> bool:
        """Return whether this stands for functions of which nothing is known."""
        if isinstance(node, GlobalVar):
            return node.name_hint not in self._functions
        if not isinstance(node, Var) or self._value_of(node) is not None:
            return False
        return _has_functions(node.type_annotation or node.checked_type_)

    def _called(self, node: Expr) -> tuple[Expr, ...]:
        if isinstance(node, GlobalVar):
            return (self._functions[node.name_hint],)
        if isinstance(node, Var):
            value = self._value_of(node)
            return () if value is None or _gives_tensors(value) else (value,)
        return children(node)

    def _value_of(self, var: Var) -> Expr | None:
        return self._inner_values.get(var, self._outer_values.get(var))


def _has_functions(type_: Type | None) -> bool:
    return type_ is not None and FuncType in extent(type_).kinds


def _gives_tensors(expr: Expr) -> bool:
    """Return whether this is a call of an operator, whose result nobody can call."""
    return isinstance(expr, Call) and isinstance(expr.op, Op)
