"""Basic blocks: bodies of functions, branches of `if`s, and clauses.

All that is in one block is evaluated, if the block is. A node that is used in several
blocks belongs to the innermost one that encloses its uses.
"""

from __future__ import annotations

from collections.abc import Sequence

from parpass.ir.adt import Constructor
from parpass.ir.node import Node, bindings, post_order
from parpass.ir.operators.op_table import Op
from parpass.relay.analysis.scopes import Scope, ScopeTree
from parpass.relay.expr import Constant, Expr, GlobalVar, Let, Var


class BlockTree(ScopeTree):
    """The basic blocks of an expression; a `let` opens none."""

    def scopes_opened(self, node: Node) -> int:
        """Return how many blocks a node opens."""
        return 0 if isinstance(node, Let) else super().scopes_opened(node)


def is_atomic(expr: Node) -> bool:
    """Return whether this is a name or a constant, which any block may use."""
    return isinstance(expr, Var | GlobalVar | Op | Constant | Constructor)


def used_across_blocks(order: Sequence[Node], blocks: BlockTree) -> set[Expr]:
    """Return what is used in another block than the one that it belongs to.

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
    """Return whether values pass from block to block in bound variables only.

    A free variable is bound nowhere, so it belongs to one block, as a value does.
    """
    order = post_order(expr)
    blocks = BlockTree(order)
    return not used_across_blocks(order, blocks) and not any(
        _is_lifted(var, uses, blocks) for var, uses in _free_uses(order, blocks).items()
    )


def _free_uses(order: Sequence[Node], blocks: BlockTree) -> dict[Var, list[Scope]]:
    """Return the blocks that use each variable that nothing binds."""
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
