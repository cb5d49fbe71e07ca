"""Basic blocks: bodies of functions and branches of `if`s.

All that is in one block is evaluated, if the block is. A node that is used in several
blocks belongs to the innermost one that encloses its uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from parpass.relay.analysis.scopes import ScopeTree
from parpass.relay.expr import Constant, Expr, Function, GlobalVar, If, Var
from parpass.relay.node import Node, post_order
from parpass.relay.op.registry import Op


class BlockTree(ScopeTree):
    """The basic blocks of an expression; a `let` opens none."""

    scopes_opened: ClassVar[Mapping[type[Node], int]] = {If: 2, Function: 1}


def is_atomic(expr: Node) -> bool:
    """Return whether this is a name or a constant, which any block may use."""
    return isinstance(expr, Var | GlobalVar | Op | Constant)


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
    """Return whether values pass from block to block in variables only."""
    order = post_order(expr)
    return not used_across_blocks(order, BlockTree(order))
