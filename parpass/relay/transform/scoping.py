"""Whether each variable is bound once and used inside of what binds it.

Inference visits each node once, so it can watch at little cost: whatever was visited
first inside of a scope must not be used any more once the scope is closed. That is so
in programs whose scopes share nothing but what was visited outside of them; for the
others, a second look at the whole tells (`analysis.scopes`).
"""

from __future__ import annotations

from collections.abc import Iterator

from parpass.relay.analysis.scopes import uses_out_of_scope
from parpass.relay.expr import Expr, Function, Let, Var
from parpass.relay.node import Node, bindings, post_order
from parpass.relay.transform.report import Finding


class Scoping:
    """What a visitor, children first, tells of scopes.

    Attributes:
        visited: The nodes since the scope began that is open now, variables aside; the
            visitor adds to it.
        starts: How many nodes were visited when a scope began: of a function, and, by
            the variable, of a `let`. The visitor adds to it.
        closed: Nodes of scopes that were left.
        is_suspect: Whether a variable may be bound twice, or be used where nothing
            binds it; so it is, if a node is used that is closed.
    """

    __slots__ = ("closed", "is_suspect", "starts", "visited")

    def __init__(self) -> None:
        self.visited: list[Expr] = []
        self.starts: dict[Expr, int] = {}
        self.closed: set[Expr] = set()
        self.is_suspect = False

    def close(self, start: int) -> None:
        """Note that all was visited in the scope that began at `start`."""
        visited, add = self.visited, self.closed.add
        while len(visited) > start:
            add(visited.pop())

    def findings(self, root: Expr) -> list[Finding]:
        """Return what is wrong with the variables that an expression binds."""
        if not self.is_suspect:
            return []
        order = post_order(root)
        binders: dict[Expr, Node] = {}
        found: list[Finding] = []
        for node in order:
            for var in bindings(node):
                if var in binders:
                    found.append(_bound_again(var, binders[var], node))
                binders[var] = node
        return [*found, *_used_outside(order, binders)]


def _bound_again(var: Var, first: Node, second: Node) -> Finding:
    message = (
        f"expected variable '{var.name_hint}' to be bound once, "
        f"got it bound by {_shown(first)} and by {_shown(second)}"
    )
    return Finding(getattr(second, "span", None) or var.span, message)


def _used_outside(order: list[Node], binders: dict[Expr, Node]) -> Iterator[Finding]:
    for user, var in uses_out_of_scope(order):
        if var in binders:  # those that nothing binds are reported as free
            yield Finding(
                getattr(user, "span", None) or var.span,
                f"expected variable '{var.name_hint}' to be used inside of what "
                f"binds it, {_shown(binders[var])}, got a use outside",
            )


def _shown(binder: Node) -> str:
    assert isinstance(binder, Let | Function)
    kind = "a `let`" if isinstance(binder, Let) else "a function"
    return f"{kind} at {binder.span}" if binder.span is not None else kind
