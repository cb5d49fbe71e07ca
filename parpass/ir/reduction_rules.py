"""The rules of an IR that its nodes' fields leave out, for reducing its programs.

`parpass.ir.reduction_patterns` finds by the fields what may be tried, and asks these
rules what no field tells, such as which nodes may stand in each other's place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

if TYPE_CHECKING:
    from parpass.transform import ReductionPattern


class ReductionRules:
    """The rules of one IR; a method that is not overridden has a neutral default."""

    def sort(self, node: Any) -> object:
        """Return what a node is: one of an equal sort may stand in its place.

        None is for names, and for parts of a node, such as the clauses of a match.
        """
        del node

    def nothing(self, node: Any) -> Any:
        """Return what stands where a node is taken out; None if it is a value."""
        del node

    def smallest(self, node: Any) -> Any:
        """Return the smallest value of the sort of a node; None if there is none."""
        del node

    def is_smallest(self, node: Any) -> bool:
        """Return whether a node is as small as `smallest` would be."""
        del node
        return False

    def alone(self, node: Any, part: Any) -> Any:
        """Return a node of the sort of `node` that is no more than a part of it.

        None if there is none. The part is of another sort: an expression, where the
        node is a statement.
        """
        del node, part

    def parameter(self, name: str, node: Any) -> Any:
        """Return a new parameter for the value of a node; None if there can be none."""
        del name, node

    def closed(self, function: Any) -> Any:
        """Return a function that none refers to with parameters for what it uses."""
        return function

    def with_fields(self, node: Any, fields: Mapping[str, Any]) -> Any:
        """Return a node with fewer parts: other values of some of its fields."""
        return structs.replace(node, **fields)

    def tidied(self, node: Any) -> Any:
        """Return a node less those of its children that do nothing any more."""
        return node

    def patterns(self) -> Sequence[ReductionPattern]:
        """Return further patterns of the IR."""
        return ()
