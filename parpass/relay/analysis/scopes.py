"""Where variables are bound, and from where they are used.

A shared node may be reached through several scopes; only the variables that all of
them bind are bound in it, and these are the scopes that enclose all of them. So every
node is given the innermost scope that encloses all its uses, parents before children.
Scopes may be nested 100,000 deep and a node be used at every depth: a way up through
`parent` alone would take quadratic time, hence `jump`, which skips levels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.relay.expr import Expr, Var
from parpass.relay.node import Node, bindings, children

if TYPE_CHECKING:
    from collections.abc import Sequence


class Scope:
    """A stretch of program in which a binder's variables may be used.

    Attributes:
        parent: The scope around it; the outermost scope is its own parent.
        jump: A scope further out, chosen so that a search upwards takes a number of
            steps that is logarithmic in the depth (skew-binary jump pointers).
        depth: The number of scopes around it.
    """

    __slots__ = ("depth", "jump", "parent")

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = self.jump = self
        self.depth = 0
        if parent is not None:
            far = parent.jump
            same_stride = parent.depth - far.depth == far.depth - far.jump.depth
            self.parent = parent
            self.jump = far.jump if same_stride else parent
            self.depth = parent.depth + 1

    def at_depth(self, depth: int) -> Scope:
        """Return the scope of that depth among this one and those around it."""
        scope = self
        while scope.depth > depth:
            scope = scope.jump if scope.jump.depth >= depth else scope.parent
        return scope

    def encloses(self, other: Scope) -> bool:
        """Return whether `other` is this scope or inside of it."""
        return other.at_depth(self.depth) is self


def innermost_common(a: Scope, b: Scope) -> Scope:
    """Return the innermost scope that encloses both."""
    depth = min(a.depth, b.depth)
    a, b = a.at_depth(depth), b.at_depth(depth)
    while a is not b:
        a, b = (a.jump, b.jump) if a.jump is not b.jump else (a.parent, b.parent)
    return a


def used_out_of_scope(order: Sequence[Node]) -> set[Expr]:
    """Return the variables with a use that no binder encloses.

    Args:
        order: The nodes of an expression in post-order.
    """
    scopes: dict[Node, Scope] = {order[-1]: Scope()}
    binders: dict[Node, list[Scope]] = {}
    found: set[Expr] = set()
    for node in reversed(order):
        below, bound = children(node), bindings(node)
        if not below:
            continue  # a leaf; among them variables that are bound and never used
        inner = outer = scopes[node]
        if bound:
            inner = Scope(outer)
            for var in bound:
                binders.setdefault(var, []).append(inner)
        for at, child in enumerate(below[len(bound) :], len(bound) + 1):
            scope = inner if at == len(below) else outer
            if isinstance(child, Var):
                of_child = binders.get(child, ())
                if not any(binder.encloses(scope) for binder in reversed(of_child)):
                    found.add(child)
            known = scopes.get(child)
            scopes[child] = innermost_common(known, scope) if known else scope
    return found
