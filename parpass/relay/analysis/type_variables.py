"""The type variables of an expression."""

from __future__ import annotations

from parpass.ir.closedness import free_type_vars_in, stated_types
from parpass.ir.node import Node, children, post_order
from parpass.ir.ty import TypeVar
from parpass.ir.type_structure import type_vars_in
from parpass.relay.expr import Expr, Function


def free_type_vars(expr: Expr) -> list[TypeVar]:
    """Return the type variables that are no parameters of a function in `expr`.

    They come in order of first appearance.
    """
    return free_type_vars_in(post_order(expr))


def bound_type_vars(expr: Expr) -> list[TypeVar]:
    """Return the type parameters of the functions in `expr`, each once."""
    functions = [node for node in post_order(expr) if isinstance(node, Function)]
    return list(dict.fromkeys(var for func in functions for var in func.type_params))


def all_type_vars(expr: Expr) -> list[TypeVar]:
    """Return the type variables of an expression: those it uses, then the others."""
    used = (var for typ in stated_types(post_order(expr)) for var in type_vars_in(typ))
    return list(dict.fromkeys([*used, *bound_type_vars(expr)]))


def unbound_type_vars(expr: Expr) -> list[tuple[Node, TypeVar]]:
    """Return the uses of type variables that no function around them binds.

    A node that is shared between scopes may use what all of them bind.
    """
    order = post_order(expr)
    bound: dict[Node, frozenset[TypeVar]] = {order[-1]: frozenset()}
    found: list[tuple[Node, TypeVar]] = []
    for node in reversed(order):
        inside = bound[node]
        if isinstance(node, Function) and node.type_params:
            inside = inside.union(node.type_params)
        for child in children(node):
            known = bound.setdefault(child, inside)
            if known is not inside:
                bound[child] = known & inside
        used = [var for typ in stated_types([node]) for var in type_vars_in(typ)]
        found += [(node, var) for var in used if var not in inside]
    return found[::-1]
