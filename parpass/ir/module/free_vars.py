"""Free variables and free type variables of functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parpass.errors import ModuleError
from parpass.errors.core import quoted
from parpass.ir.node import Node, bindings, post_order, reflection
from parpass.ir.types import Type, TypeVar
from parpass.ir.types.type_structure import type_vars_in


def check_closed(function: Node, name: str) -> None:
    """Check that a function may be part of a module.

    Raises:
        ModuleError: It uses variables that it does not bind.
    """
    order = post_order(function)
    bound = {var for node in order for var in bindings(node)}
    variables = (node for node in order if reflection(type(node)).is_variable)
    free = [
        str(getattr(var, "name_hint", var)) for var in variables if var not in bound
    ]
    if free:
        raise ModuleError(
            f"function '{name}' has free variables: {quoted(free)}; a function of a "
            "module binds all that it uses"
        )
    free_types = [var.name_hint for var in free_type_vars_in(order)]
    if free_types:
        raise ModuleError(
            f"function '{name}' has free type variables: {quoted(free_types)}; they "
            "belong in its type_params"
        )


def free_type_vars_in(order: Sequence[Node]) -> list[TypeVar]:
    """Return the type variables that none of these nodes binds, by first appearance."""
    used = {var: None for typ in stated_types(order) for var in type_vars_in(typ)}
    if not used:
        return []
    bound = {
        var for node in order for var in reflection(type(node)).type_bindings(node)
    }
    return [var for var in used if var not in bound]


def stated_types(order: Iterable[Node]) -> Iterator[Type]:
    """Yield the types that nodes are annotated with."""
    for node in order:
        for name in reflection(type(node)).types:
            stated = getattr(node, name)
            if isinstance(stated, tuple):
                yield from stated
            elif stated is not None:
                yield stated
