"""The type variables of an expression."""

from __future__ import annotations

from parpass.ir.closedness import free_type_vars_in, stated_types
from parpass.ir.node import Node, children, post_order
from parpass.ir.type_functor import TypeVisitor
from parpass.ir.types.ty import FuncType, Type, TypeVar
from parpass.ir.types.type_structure import type_vars_in
from parpass.relay.expr import Expr, Function


def free_type_vars(of: Expr | Type) -> list[TypeVar]:
    """Return the type variables that no function in `of` has as its parameters.

    They come in order of first appearance.
    """
    if isinstance(of, Type):
        return list(dict.fromkeys(type_vars_in(of)))
    return free_type_vars_in(post_order(of))


def bound_type_vars(of: Expr | Type) -> list[TypeVar]:
    """Return the type parameters of functions in `of`, or of its types, each once."""
    if isinstance(of, Type):
        return list(_Names(of).bound)
    functions = [node for node in post_order(of) if isinstance(node, Function)]
    return list(dict.fromkeys(var for func in functions for var in func.type_params))


def all_type_vars(of: Expr | Type) -> list[TypeVar]:
    """Return the type variables in `of`.

    Of an expression those that it uses come before the others; in a type parameters
    come before what they are the parameters of.
    """
    if isinstance(of, Type):
        return list(_Names(of).found)
    used = (var for typ in stated_types(post_order(of)) for var in type_vars_in(typ))
    return list(dict.fromkeys([*used, *bound_type_vars(of)]))


class _Names(TypeVisitor):
    """The type variables in a type, and those that functions in it bind."""

    def __init__(self, typ: Type) -> None:
        self.found: dict[TypeVar, None] = {}
        self.bound: dict[TypeVar, None] = {}
        self.visit(typ)

    def visit_type_var(self, tv: TypeVar) -> None:
        self.found[tv] = None

    def visit_func_type(self, ft: FuncType) -> None:
        self.bound.update(dict.fromkeys(ft.type_params))
        super().visit_func_type(ft)


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
