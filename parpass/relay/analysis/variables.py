"""The variables of an expression: free, bound, all; and whether they are used well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.ir.module import IRModule
from parpass.ir.node import Node, bindings, post_order
from parpass.relay.analysis.scopes import used_out_of_scope
from parpass.relay.expr import Expr, Var

if TYPE_CHECKING:
    from collections.abc import Sequence


def all_vars(expr: Expr) -> list[Var]:
    """Return all local variables, in order of first appearance."""
    return [node for node in post_order(expr) if isinstance(node, Var)]


def bound_vars(expr: Expr) -> list[Var]:
    """Return the variables that are bound in an expression, in order of appearance."""
    order = post_order(expr)
    bound = set(_all_bindings(order))
    return [node for node in order if isinstance(node, Var) and node in bound]


def free_vars(expr: Expr) -> list[Var]:
    """Return the variables that are used where no binding of theirs reaches.

    They come in order of first appearance.
    """
    order = post_order(expr)
    variables = [node for node in order if isinstance(node, Var)]
    bound = set(_all_bindings(order))
    if bound:
        escaping = used_out_of_scope(order)
        return [var for var in variables if var in escaping]
    return variables


def well_formed(program: Expr | IRModule) -> bool:
    """Return whether each variable is bound once, and used only where it is bound.

    Variables that are bound nowhere are free, and allowed.
    """
    if isinstance(program, IRModule):
        return all(well_formed(f) for f in program.functions_by_name.values())
    order = post_order(program)
    bound_at = _all_bindings(order)
    bound = set(bound_at)
    if len(bound) != len(bound_at):
        return False
    return not bound or bound.isdisjoint(used_out_of_scope(order))


def _all_bindings(order: Sequence[Node]) -> list[Var]:
    return [var for node in order for var in bindings(node)]
