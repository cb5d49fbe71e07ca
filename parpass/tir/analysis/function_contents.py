"""The summary of a PrimFunc that passes ask for before they go through it."""

from __future__ import annotations

from typing import NamedTuple

from parpass.ir.node import Node, breadth_first
from parpass.ir.op.op_table import Op
from parpass.tir.function import PrimFunc
from parpass.tir.stmt import AttrStmt, For, ForKind
from parpass.transform import PassContext, analysis


class Contents(NamedTuple):
    """The kinds of nodes of a function, and other words that passes look for.

    Attributes:
        kinds: The classes of its nodes.
        loops: The kinds of its loops.
        attributes: The keys of its attribute statements.
        operators: The names of the operators that are called.
    """

    kinds: frozenset[type[Node]]
    loops: frozenset[ForKind]
    attributes: frozenset[str]
    operators: frozenset[str]


@analysis
def contents(func: PrimFunc, ctx: PassContext) -> Contents:
    """Return the summary of a function.

    A pass that rewrites statements of some kind leaves functions without them alone.
    """
    del ctx
    kinds, loops = set[type[Node]](), set[ForKind]()
    attributes, operators = set[str](), set[str]()
    for node in breadth_first(func.body):
        kinds.add(type(node))
        if isinstance(node, For):
            loops.add(ForKind(node.kind))
        elif isinstance(node, AttrStmt):
            attributes.add(node.attr_key)
        elif isinstance(node, Op):
            operators.add(node.name)
    found = frozenset(kinds), frozenset(loops)
    return Contents(*found, frozenset(attributes), frozenset(operators))
