"""Limits on the size of programs as trees, where shared nodes count at each use.

Of `b = (a, a)`, `c = (b, b)` and so on, each is twice as large as the one before, as a
tree, so sixty nodes stand for more than any memory holds. Results that depend on a node
alone are computed once and memoized. Results that depend on the place of a node, such
as fresh names for the variables it binds, are computed for each place, after a check of
the number of places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass.errors import SizeLimitError
from parpass.ir.node.node import Node, post_order

# How many places more than nodes there may be: about a second's work of a pass.
MAX_COPIES = 2**15
_SATURATED = 2**62  # sizes are not computed beyond this one

Below = Callable[[Any], Sequence[Any]]


def _sizes(root: Node, below: Below) -> dict[Node, int]:
    """Return the size of each node's tree: nodes below it, counted at each use."""
    sizes: dict[Node, int] = {}
    for node in post_order(root, below):
        size = 1 + sum([sizes[child] for child in below(node)])
        sizes[node] = min(size, _SATURATED)
    return sizes


def check_tree_size(
    root: Node, below: Below, what: str, instead: str, most: int = MAX_COPIES
) -> None:
    """Check the size as a tree (shared nodes counted at each use).

    Args:
        root: The node to begin with.
        below: Returns the counted nodes below one.
        what: The counted things, such as "statements to be given memory".
        instead: A remedy, for the message.
        most: How many places more than nodes there may be.

    Raises:
        SizeLimitError: There are more.
    """
    sizes = _sizes(root, below)
    size = sizes[root]
    copies = size if size == _SATURATED else size - len(sizes)
    check_copies(copies, what, instead, most)


def check_copies(copies: int, what: str, instead: str, most: int = MAX_COPIES) -> None:
    """Check a number of copies, made or planned.

    Raises:
        SizeLimitError: They are more than `most`.
    """
    if copies > most:
        raise SizeLimitError(
            f"expected at most {most} {what} beyond the first use of each, got "
            f"{shown_size(copies)}; {instead}"
        )


def shown_size(size: int) -> str:
    """Return a size in words."""
    if size >= _SATURATED:
        return "more than 4.6e18"
    return str(size) if size < 10**9 else f"{size:.1e}"
