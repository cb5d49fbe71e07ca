"""Scopes, variables and basic blocks of an expression.

A shared node may be reached through several scopes; only the variables that all of them
bind are bound in it, and these are the scopes that enclose all of them. So every node
is assigned the innermost scope that encloses all its uses, parents before children.
Scopes may be nested 100,000 deep and a node be used at every depth: a search upwards
through `parent` alone would take quadratic time, hence `jump`, which skips levels.

Variables are free or bound; `well_formed` checks their uses. A basic block is the body
of a function, a branch of an `if`, or a clause. If a block is evaluated, everything in
it is. A node that is used in several blocks belongs to the innermost one that encloses
its uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.ir.node import (
    Node,
    bindings,
    children,
    outer_children,
    reflection,
    scopes_of,
)
from parpass.relay.expr import Expr, Function, Let, Var

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
from parpass.ir.module import IRModule
from parpass.ir.node import post_order

if TYPE_CHECKING:
    from collections.abc import Sequence
from collections.abc import Sequence

from parpass.ir.adt import Constructor
from parpass.ir.op.op_table import Op
from parpass.relay.expr import Constant, GlobalVar


class Scope:
    """A region of a program in which a binder's variables may be used.

    Attributes:
        parent: The enclosing scope; the outermost scope is its own parent.
        jump: A scope further out, chosen so that a search upwards takes a number of
            steps that is logarithmic in the depth (skew-binary jump pointers).
        depth: The number of enclosing scopes.
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
        """Return the scope of that depth among this one and those that enclose it."""
        scope = self
        while scope.depth > depth:
            scope = scope.jump if scope.jump.depth >= depth else scope.parent
        return scope

    def encloses(self, other: Scope) -> bool:
        """Return whether `other` is this scope or nested in it."""
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
            reflected = reflection(type(node))
            if not reflected.scopes:  # nearly all nodes, so it takes no calls
                for child in reflected.children(node):
                    scope = around[node]
                    known = around.setdefault(child, scope)
                    if known is not scope:
                        around[child] = innermost_common(known, scope)
                continue
            count = self.scopes_opened(node)
            if count:
                outer = around[node]
                self.opened[node] = [Scope(outer) for _ in range(count)]
            for child, scope in self.uses(node):
                known = around.setdefault(child, scope)
                if known is not scope:
                    around[child] = innermost_common(known, scope)

    def scopes_opened(self, node: Node) -> int:
        """Return how many scopes a node opens."""
        return len(reflection(type(node)).scopes)

    def uses(self, node: Node) -> list[tuple[Expr, Scope]]:
        """Return the children of a node with the scopes that they are used in.

        Variables that the node binds are not among them.
        """
        below = children(node)
        if not below:
            return []
        outer, opened = self.around[node], self.opened.get(node)
        if opened is None:
            return [(child, outer) for child in below]
        scopes = zip(scopes_of(node), opened, strict=True)
        return [*((child, outer) for child in outer_children(node)), *scopes]


class _BindingTree(ScopeTree):
    """Scopes as seen by variables: a function may refer to the `let` that binds it."""

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


def all_vars(expr: Expr) -> list[Var]:
    """Return all local variables, in order of first appearance."""
    return [node for node in post_order(expr) if isinstance(node, Var)]


def bound_vars(expr: Expr) -> list[Var]:
    """Return the variables that are bound in an expression, in order of appearance."""
    order = post_order(expr)
    bound = set(_all_bindings(order))
    return [node for node in order if isinstance(node, Var) and node in bound]


def free_vars(expr: Expr) -> list[Var]:
    """Return the variables that are used outside of any binding.

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
    """Return whether each variable is bound once, and used only in its scope.

    Variables without a binding are free, and allowed.
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


class BlockTree(ScopeTree):
    """The basic blocks of an expression; a `let` opens none."""

    def scopes_opened(self, node: Node) -> int:
        """Return how many blocks a node opens."""
        return 0 if isinstance(node, Let) else super().scopes_opened(node)


def is_atomic(expr: Node) -> bool:
    """Return whether this is a name or a constant, which any block may use."""
    return isinstance(expr, Var | GlobalVar | Op | Constant | Constructor)


def used_across_blocks(order: Sequence[Node], blocks: BlockTree) -> set[Expr]:
    """Return the expressions that are used in another block than their own.

    Args:
        order: The nodes of an expression in post-order.
        blocks: Their blocks.
    """
    return {
        child
        for node in order
        for child, block in blocks.uses(node)
        if blocks.around[child] is not block and not is_atomic(child)
    }


def check_basic_block_normal_form(expr: Expr) -> bool:
    """Return whether values pass between blocks in bound variables only.

    A free variable is bound nowhere, so it belongs to one block, as a value does.
    """
    order = post_order(expr)
    blocks = BlockTree(order)
    return not used_across_blocks(order, blocks) and not any(
        _is_lifted(var, uses, blocks) for var, uses in _free_uses(order, blocks).items()
    )


def _free_uses(order: Sequence[Node], blocks: BlockTree) -> dict[Var, list[Scope]]:
    """Return the blocks that use each free variable."""
    bound = {var for node in order for var in bindings(node)}
    found: dict[Var, list[Scope]] = {}
    for node in order:
        for child, block in blocks.uses(node):
            if isinstance(child, Var) and child not in bound:
                found.setdefault(child, []).append(block)
    return found


def _is_lifted(var: Var, uses: Sequence[Scope], blocks: BlockTree) -> bool:
    """Return whether no block that uses a variable encloses all that do."""
    return all(block is not blocks.around[var] for block in uses)
