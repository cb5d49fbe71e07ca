"""Smaller modules to try in place of one: the ways in which a program can shrink.

Each way lists items of a module, such as the nodes of its functions, and makes a
smaller module by taking some of them out. Whether that still shows what is looked for,
the caller finds out (`parpass reduce`). Where types are known, they are kept: what
replaces an expression has its type.

A function that no other refers to may get other parameters, and another result.
"""

from __future__ import annotations

from parpass.ir.module import IRModule
from parpass.relay.expr import Constant
from parpass.relay.shrinking.fewer_parts import (
    DropAttributes,
    DropClauses,
    DropFields,
    DropTypes,
)
from parpass.relay.shrinking.replacing import is_leaf, nodes_of, relay_functions
from parpass.relay.shrinking.smaller_expressions import (
    Descend,
    Hoist,
    MakeConstant,
    Parametrise,
)
from parpass.transform import Way


def size(mod: IRModule) -> tuple[int, ...]:
    """Return how large a module is: smaller numbers are smaller modules.

    The numbers of its functions and types, of expressions that are made of others, of
    constants, of all nodes, and of attributes.
    """
    functions = relay_functions(mod).values()
    nodes = [node for function in functions for node in nodes_of(function)]
    return (
        len(functions) + len(mod.types.by_name),
        sum(not is_leaf(node) for node in nodes),
        sum(isinstance(node, Constant) for node in nodes),
        len(nodes),
        sum(len(function.attrs or ()) for function in functions),
    )


def ways() -> list[Way]:
    """Return all ways into functions, those that take most away first."""
    return [
        Parametrise(),
        Hoist(),
        Descend(),
        DropFields(),
        MakeConstant(),
        DropClauses(),
        DropTypes(),
        DropAttributes(),
    ]
