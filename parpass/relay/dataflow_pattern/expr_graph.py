"""An expression as a graph: who uses whom, and what must be passed on the way out."""

from __future__ import annotations

from functools import cached_property
from typing import cast

from parpass.ir.node import Node, children, post_order
from parpass.ir.operators.op_table import Op
from parpass.relay.analysis.scopes import Scope, innermost_common
from parpass.relay.expr import Call, Expr

# What a root is told by: the operator that it calls, else its kind.
RootKey = Op | type[Expr]


class ExprGraph:
    """An expression with an index of its nodes.

    Attributes:
        root: The expression.
        order: Its nodes, inputs first.
    """

    def __init__(self, root: Expr) -> None:
        self.root = root
        self.order = nodes_of(root)

    @cached_property
    def _places(self) -> dict[RootKey, list[int]]:
        places: dict[RootKey, list[int]] = {}
        for place, node in enumerate(self.order):
            places.setdefault(type(node), []).append(place)
            if isinstance(node, Call) and isinstance(node.op, Op):
                places.setdefault(node.op, []).append(place)
        return places

    def candidates(self, keys: frozenset[RootKey] | None) -> list[Expr]:
        """Return the nodes that one of some keys tells, users before what they use.

        Args:
            keys: None for all nodes.
        """
        if keys is None:
            order: list[Node] = [*reversed(self.order)]
            return [node for node in order if isinstance(node, Expr)]
        found = [self._places[key] for key in keys if key in self._places]
        if len(found) == 1:
            return [self.order[place] for place in reversed(found[0])]
        merged = sorted({place for places in found for place in places}, reverse=True)
        return [self.order[place] for place in merged]

    @cached_property
    def users(self) -> dict[Expr, list[Expr]]:
        """The nodes that use a node, for all but the root."""
        users: dict[Expr, list[Expr]] = {}
        for node in self.order:
            for child in children(node):
                users.setdefault(child, []).append(node)
        return users

    @cached_property
    def _ways_out(self) -> dict[Expr, Scope]:
        # A node's way out leads through what all ways from its users have in common:
        # the post-dominators, as a tree in which "encloses" means "dominates".
        ways: dict[Expr, Scope] = {self.root: Scope()}
        users = self.users
        for node in reversed(self.order[:-1]):
            first, *others = users[node]
            common = ways[first]
            for other in others:
                common = innermost_common(common, ways[other])
            ways[node] = Scope(common)
        return ways

    def dominates(self, node: Expr, other: Expr) -> bool:
        """Return whether every way from `other` to the root goes through `node`."""
        ways = self._ways_out
        return node is not other and ways[node].encloses(ways[other])


def nodes_of(expr: Expr) -> list[Expr]:
    """Return the nodes of an expression, each once, inputs first.

    Clauses are among them, which no pattern matches.
    """
    return cast("list[Expr]", post_order(expr))
