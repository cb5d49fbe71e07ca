"""Type inference over one expression: every node's type from those of its children.

A node that is typed already, and whose children come out as they were, is not looked
at again: nodes do not change, and a rebuilt one has no type. Only what refers to a
global function is, because that function may have another type by now.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

from msgspec.structs import force_setattr

from parpass.errors import did_you_mean
from parpass.relay.expr import Call, Constant, Expr, Function, GlobalVar, Let, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.node import layout
from parpass.relay.op.registry import Op
from parpass.relay.transform.global_types import GlobalTypes
from parpass.relay.transform.report import Finding
from parpass.relay.transform.type_rules import RULES
from parpass.relay.ty import FuncType, Type

_NAMES = {GlobalVar, Op}


class TypeInferencer(ExprMutator):
    """Rewrites an expression into the same one with types.

    An ill-typed node gets no type, and neither do its users, without a further error.

    Attributes:
        findings: The errors, in the order of evaluation.
        used_globals: The types of the global functions that were referred to.
        ill_typed_globals: Those whose own body has errors, reported there.
        free_vars: The variables that nothing bound before they were used.
    """

    def __init__(self, global_types: GlobalTypes) -> None:
        super().__init__()
        self.findings: list[Finding] = []
        self.used_globals: dict[str, FuncType] = {}
        self.ill_typed_globals: dict[str, Expr] = {}
        self.free_vars: list[Var] = []
        self._global_types = global_types
        self._let_values: dict[Expr, Expr] = {}
        self._params: set[Expr] = set()

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return all children, so that no nesting of scopes is too deep."""
        if isinstance(expr, Let):
            # A variable's type is its value's, so the value comes first.
            self._let_values[expr.var] = expr.value
            return (expr.value, expr.var, expr.body)
        if isinstance(expr, Function):
            self._params.update(expr.params)
        return layout(type(expr)).children(expr)

    def visit_var(self, var: Var) -> Expr:
        """Return the variable with its declared type, or with its value's."""
        found = var.type_annotation
        value = self._let_values.get(var)
        if value is None and var not in self._params:
            self.free_vars.append(var)
        if found is None:
            found = var.checked_type_ if value is None else self._type_of_value(value)
        if found is None:
            self._report_untyped(var, value)
        if found == var.checked_type_:
            return var
        return Var(var.name_hint, var.type_annotation, var.span, found)

    def _type_of_value(self, value: Expr) -> Type | None:
        if value in self.memo_map:
            return getattr(self.memo_map[value], "checked_type_", None)
        # A closure that refers to itself, for otherwise the value would be known.
        return value.annotated_type if isinstance(value, Function) else None

    def _report_untyped(self, var: Var, value: Expr | None) -> None:
        name = var.name_hint
        if var in self._params:
            self._error(var, f"expected a type annotation on parameter '{name}'")
        elif value is None:
            self._error(var, f"expected a type annotation on free variable '{name}'")
        elif value not in self.memo_map:
            self._error(
                var,
                f"expected '{name}', which refers to itself, to have its type "
                "annotated, or all its parameters and its result",
            )

    def visit_default(self, expr: Expr) -> Expr:
        """Return `expr` with typed children and its own type."""
        shape = layout(type(expr))
        old = shape.children(expr)
        memo = self.memo_map
        new: list[Any] = [memo[child] for child in old]
        node: Any = expr
        same = all(map(is_, old, new))
        if same and node.checked_type_ is not None and GlobalVar not in map(type, old):
            return expr
        types = [
            self._type_of_name(child, node)
            if type(child) in _NAMES
            else child.checked_type_
            for child in new
        ]
        found = RULES[type(expr)](node, types, self._error)
        if same and found is not None and found == node.checked_type_:
            return expr
        typed = shape.rebuild(expr, new)
        if found is not None:
            force_setattr(typed, "checked_type_", found)
            if isinstance(found, FuncType) and isinstance(typed, Function):
                force_setattr(typed, "ret_type", found.ret_type)
        return typed

    def visit_global_var(self, global_var: GlobalVar) -> Expr:
        """Return the module's own; a pass may have made another of that name."""
        return self._global_types.own_global_var(global_var)

    def visit_op(self, op: Op) -> Expr:
        """Return the very same object."""
        return op

    def visit_constant(self, const: Constant) -> Expr:
        """Return the constant, which knows its type."""
        return const

    def _type_of_name(self, name: GlobalVar | Op, user: Expr) -> Type | None:
        """Return the type of a node that has none itself; `user` may be to blame."""
        if isinstance(name, GlobalVar):
            return self._type_of_global(name, user)
        if not isinstance(user, Call) or name in user.args:
            message = f"expected a value, got operator '{name.name}'"
            self._error(user, f"{message}; wrap it in a function")
        return None

    def _type_of_global(self, global_var: GlobalVar, user: Expr) -> Type | None:
        name = global_var.name_hint
        types = self._global_types
        if name not in types.names:
            near = did_you_mean(name, types.names)
            self._error(user, f"the module has no function named '{name}'{near}")
            return None
        found = types.type_of(name)
        if found is not None:
            self.used_globals[name] = found
        elif types.is_recursive(name):
            self._error(
                user,
                f"expected all parameters and the result of '{name}', which calls "
                "itself, to have their types annotated",
            )
        else:
            self.ill_typed_globals[name] = user
        return found

    def _error(self, blamed: Any, message: str, around: Any = None) -> None:
        span = getattr(blamed, "span", None) or getattr(around, "span", None)
        self.findings.append(Finding(span, message))
