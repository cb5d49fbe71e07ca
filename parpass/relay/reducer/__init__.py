"""Reduction of Relay programs: patterns that make a module smaller, and its size.

Each pattern lists items of a module, such as the nodes of its functions, and makes a
smaller module by removing some of them. The caller (`parpass reduce`) checks whether
the result still shows the searched behaviour. Where types are known, they are kept: a
replacement has the type of the expression that it replaces.

A function without callers may get other parameters and another result type.
"""

from __future__ import annotations

from parpass.ir.module import IRModule
from parpass.relay.expr import Constant
from parpass.relay.reducer.reduction_patterns import (
    Descend,
    DropAttributes,
    DropClauses,
    DropFields,
    DropTypes,
    Hoist,
    MakeConstant,
    Parametrise,
    is_leaf,
    nodes_of,
    relay_functions,
)
from parpass.transform import ReductionPattern


def size(mod: IRModule) -> tuple[int, ...]:
    """Return the size of a module as a tuple; smaller tuples are smaller modules.

    The numbers of its functions and types, of expressions with operands, of constants,
    of all nodes, and of attributes.
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


def reductions() -> list[ReductionPattern]:
    """Return all reduction patterns on functions, the most effective first."""
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
