"""The data-flow graph of an expression: users, post-dominance, types for patterns."""

from __future__ import annotations

from typing import cast

from parpass.errors import DiagnosticError
from parpass.fork_safety import cached_property
from parpass.ir.module import IRModule
from parpass.ir.node import Node, breadth_first, post_order, users_of
from parpass.ir.op.op_table import Op
from parpass.ir.types import Type
from parpass.relay.analysis.scopes import Scope, innermost_common
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.type_inference.infer import infer_type

# Marks a function that a partition made; no match is looked for inside of it.
PARTITIONED = "PartitionedFromPattern"

# What a root is told by: the operator that it calls, else its kind.
RootKey = Op | type[Expr]


class ExprGraph:
    """An expression with an index of its nodes.

    Attributes:
        root: The expression.
    """

    def __init__(self, root: Expr) -> None:
        self.root = root

    @cached_property
    def order(self) -> list[Expr]:
        """The nodes of the expression, inputs first."""
        return nodes_of(self.root)

    @cached_property
    def _keys(self) -> set[RootKey]:
        # Most patterns find nothing in most functions, and an order takes four times as
        # long as this. An operator that is called is a node, too.
        nodes = cast("list[Expr]", breadth_first(self.root))
        return {*map(type, nodes), *(node for node in nodes if isinstance(node, Op))}

    @cached_property
    def _places(self) -> dict[RootKey, list[int]]:
        places: dict[RootKey, list[int]] = {}
        for place, node in enumerate(self.order):
            places.setdefault(type(node), []).append(place)
            if isinstance(node, Call) and isinstance(node.op, Op):
                places.setdefault(node.op, []).append(place)
        return places

    def has_any(self, keys: frozenset[RootKey] | None) -> bool:
        """Return whether one of some keys tells a node, None any node."""
        return keys is None or not keys.isdisjoint(self._keys)

    def candidates(self, keys: frozenset[RootKey] | None) -> list[Expr]:
        """Return the nodes that one of some keys tells, users before what they use.

        Args:
            keys: None for all nodes.
        """
        if keys is None:
            order: list[Node] = [*reversed(self.order)]
            return [node for node in order if isinstance(node, Expr)]
        if not self.has_any(keys):
            return []
        found = [self._places[key] for key in keys if key in self._places]
        if len(found) == 1:
            return [self.order[place] for place in reversed(found[0])]
        merged = sorted({place for places in found for place in places}, reverse=True)
        return [self.order[place] for place in merged]

    @cached_property
    def partitioned(self) -> set[Expr]:
        """The nodes inside of functions that a partition made."""
        inside: set[Expr] = set()
        for node in self.candidates(frozenset({Function})):
            attrs = cast("Function", node).attrs
            if attrs and PARTITIONED in attrs and node not in inside:
                inside.update(nodes_of(node))
        return inside

    @cached_property
    def users(self) -> dict[Expr, list[Expr]]:
        """The nodes that use a node, for all but the root."""
        return users_of(self.order)

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


class ExprTypes:
    """Tells the types of expressions, inferred where InferType has not run.

    Args:
        mod: Has the functions that the expressions refer to.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self._mod = mod
        self._inferred: dict[Expr, Type | None] = {}
        self._roots: set[Expr] = set()

    def type_of(self, expr: Expr, root: Expr) -> Type | None:
        """Return the type of an expression, None if it cannot be found.

        Args:
            expr: The expression.
            root: What it is a part of; all of it is inferred at once.
        """
        known: Type | None = getattr(expr, "checked_type_", None)
        if known is not None or isinstance(expr, Op):
            return known
        if root not in self._roots:
            self._roots.add(root)
            self._infer_all(root)
        if expr not in self._inferred:
            typed = self._typed(expr)
            self._inferred[expr] = None if typed is None else typed.checked_type
        return self._inferred[expr]

    def _infer_all(self, root: Expr) -> None:
        typed = self._typed(root)
        before, after = post_order(root), [] if typed is None else post_order(typed)
        # Typed nodes are in the same order, unless two names of a global became one.
        if len(before) == len(after):
            for old, new in zip(before, after, strict=True):
                found: Type | None = getattr(new, "checked_type_", None)
                self._inferred[cast("Expr", old)] = found

    def _typed(self, expr: Expr) -> Expr | None:
        try:
            return infer_type(expr, self._mod)
        except DiagnosticError:
            return None
