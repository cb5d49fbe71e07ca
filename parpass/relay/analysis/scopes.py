"""Where variables are bound, and from where they are used.

A shared node may be reached through several scopes; only the variables that all of
them bind are bound in it, and these are the scopes that enclose all of them. So every
node is given the innermost scope that encloses all its uses, parents before children.
Scopes may be nested 100,000 deep and a node be used at every depth: a way up through
`parent` alone would take quadratic time, hence `jump`, which skips levels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.ir.node import Node, bindings, children, reflection
from parpass.relay.expr import Expr, Function, Let, Var

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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


class ScopeTree:
    """The scopes of an expression: bodies of functions and `let`s, branches of `if`s.

    Attributes:
        around: For each node the innermost scope that encloses all its uses.
        opened: The scopes that a node opens, for its last children in their order.
    """

    def __init__(self, order: Sequence[Node]) -> None:
        self.around: dict[Node, Scope] = {order[-1]: Scope()}
        self.opened: dict[Node, list[Scope]] = {}
        around = self.around
        for node in reversed(order):
            count = self.scopes_opened(node)
            if count:
                outer = around[node]
                self.opened[node] = [Scope(outer) for _ in range(count)]
            for child, scope in self.uses(node):
                known = around.get(child)
                if known is not scope:
                    around[child] = innermost_common(known, scope) if known else scope

    def scopes_opened(self, node: Node) -> int:
        """Return how many scopes a node opens."""
        return reflection(type(node)).scopes

    def uses(self, node: Node) -> list[tuple[Expr, Scope]]:
        """Return the children of a node with the scopes that they are used in.

        Variables that the node binds are not used by it.
        """
        below = children(node)
        if not below:
            return []
        outer, opened = self.around[node], self.opened.get(node)
        if opened is None:
            return [(child, outer) for child in below]
        first, last = len(bindings(node)), len(below) - len(opened)
        inside = zip(below[last:], opened, strict=True)
        return [*((child, outer) for child in below[first:last]), *inside]


class _BindingTree(ScopeTree):
    """Scopes as the variables see them: a function may refer to the `let` it is in."""

    def uses(self, node: Node) -> list[tuple[Expr, Scope]]:
        if isinstance(node, Let) and isinstance(node.value, Function):
            (inside,) = self.opened[node]
            return [(node.value, inside), (node.body, inside)]
        return super().uses(node)


def used_out_of_scope(order: Sequence[Node]) -> set[Expr]:
    """Return the variables with a use that no binder encloses."""
    return {var for _, var in uses_out_of_scope(order)}


def uses_out_of_scope(order: Sequence[Node]) -> Iterator[tuple[Node, Var]]:
    """Yield each use of a variable that no binder encloses: the user, the variable.

    A function that is the value of a `let` may refer to the variable, to call itself.

    Args:
        order: The nodes of an expression in post-order.
    """
    tree = _BindingTree(order)
    binders: dict[Node, list[Scope]] = {}
    for node, opened in tree.opened.items():
        for var in bindings(node):
            binders.setdefault(var, []).append(opened[-1])
    for node in order:
        for child, scope in tree.uses(node):
            if isinstance(child, Var) and not any(
                binder.encloses(scope) for binder in binders.get(child, ())
            ):
                yield node, child
