"""Places in a program, and the program with something else there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order
from parpass.ir.references import called_globals
from parpass.ir.types.ty import Type
from parpass.relay.analysis.variables import free_vars
from parpass.relay.expr import Expr, Function, Tuple, Var
from parpass.relay.functor import ExprMutator


class Place(NamedTuple):
    """A node in a function."""

    function: str
    node: Expr
    instead: Any = None


def relay_functions(mod: IRModule) -> dict[str, Function]:
    """Return the functions of Relay; others have ways of their own."""
    functions = mod.functions_by_name.items()
    return {name: one for name, one in functions if isinstance(one, Function)}


def roots(mod: IRModule) -> list[str]:
    """Return the functions to which nothing refers, so that they may change type."""
    functions = mod.functions_by_name
    called = {v.name_hint for f in functions.values() for v in called_globals(f)}
    return [name for name in relay_functions(mod) if name not in called]


def nodes_of(expr: Expr) -> list[Expr]:
    """Return the nodes of an expression that are expressions."""
    return [node for node in post_order(expr) if isinstance(node, Expr)]


def is_leaf(node: Expr) -> bool:
    """Return whether an expression is made of no others."""
    return not children(node) and not isinstance(node, Tuple)


def type_of(node: Expr) -> Type | None:
    """Return the type of an expression, if it is known."""
    return getattr(node, "checked_type_", None)


def replaced(mod: IRModule, replacements: Mapping[Place, Expr]) -> IRModule:
    """Return the module with other expressions in some places."""
    by_function: dict[str, dict[Expr, Expr]] = {}
    for place, new in replacements.items():
        by_function.setdefault(place.function, {})[place.node] = new
    may_change = set(roots(mod))
    changed: dict[str, Function] = {}
    for name, known in by_function.items():
        mutator = ExprMutator()
        mutator.memo_map.update(known)
        function = cast("Function", mutator.visit(mod[name]))
        changed[name] = closed(function) if name in may_change else function
    return with_functions(mod, changed)


def closed(function: Function) -> Function:
    """Return a function with just those parameters that its body uses."""
    free = free_vars(function.body)
    used, known = set(free), set(function.params)
    kept = [param for param in function.params if param in used]
    old = [var for var in free if var not in known]
    if not old and len(kept) == len(known):
        return function
    new = [_annotated(var) for var in old]
    mutator = ExprMutator()
    mutator.memo_map.update(zip(old, new, strict=True))
    body = mutator.visit(function.body)
    params = (*kept, *new)
    return structs.replace(function, params=params, body=body, checked_type_=None)


def _annotated(var: Var) -> Var:
    # A new one: what was bound inside may still be bound there, too.
    return Var(var.name_hint, var.type_annotation or type_of(var), var.span)


def with_functions(mod: IRModule, changed: Mapping[str, Function]) -> IRModule:
    """Return the module with other functions of some names."""
    return IRModule.assemble(mod, {**mod.functions_by_name, **changed})
