"""The operators of a function, which passes ask for before they go through it."""

from __future__ import annotations

from collections.abc import Collection

from parpass.ir.node import breadth_first
from parpass.ir.op.op_table import Op
from parpass.relay.expr import Function
from parpass.transform import PassContext, analysis


@analysis
def operators(func: Function, ctx: PassContext) -> frozenset[str]:
    """Return the names of the operators in a function, and in those inside of it.

    A pass that rewrites calls of some operators leaves functions without them alone.
    """
    del ctx
    return frozenset([one.name for one in breadth_first(func) if type(one) is Op])


def has_operator(func: Function, names: Collection[str], ctx: PassContext) -> bool:
    """Return whether a function has one of some operators."""
    return not ctx.get_analysis(operators, func).isdisjoint(names)
