"""The type variables of an expression."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parpass.relay.expr import Call, Expr, Function, Var
from parpass.relay.node import Node, post_order
from parpass.relay.ty import FuncType, TupleType, Type, TypeVar


def free_type_vars(expr: Expr) -> list[TypeVar]:
    """Return the type variables that are no parameters of a function in `expr`.

    They come in order of first appearance.
    """
    return free_type_vars_in(post_order(expr))


def free_type_vars_in(order: Sequence[Node]) -> list[TypeVar]:
    """Return the same as `free_type_vars`, for the nodes of an expression."""
    used = dict.fromkeys(_type_vars(_annotations(order)))
    if not used:
        return []
    functions = [node for node in order if isinstance(node, Function)]
    bound = {param for function in functions for param in function.type_params}
    return [var for var in used if var not in bound]


def _annotations(order: Iterable[Node]) -> Iterator[Type | None]:
    for node in order:
        if isinstance(node, Var):
            yield node.type_annotation
        elif isinstance(node, Function):
            yield node.ret_type
        elif isinstance(node, Call):
            yield from node.type_args


def _type_vars(types: Iterable[Type | None]) -> Iterator[TypeVar]:
    for found in types:
        if isinstance(found, TypeVar):
            yield found
        elif isinstance(found, TupleType):
            yield from _type_vars(found.fields)
        elif isinstance(found, FuncType):
            inside = _type_vars((*found.arg_types, found.ret_type))
            yield from (var for var in inside if var not in found.type_params)
