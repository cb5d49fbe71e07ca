"""A limit for the nesting of types and attributes."""

from __future__ import annotations

from typing import Any

from parpass.errors import SizeLimitError
from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.ir.serialization.records import parts_of
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types.type_structure import MAX_TYPE_DEPTH

_FLAT = Node, IRModule  # may be of any depth, and add none to what they are in


class Nesting:
    """Checks the nesting of types and attributes; see `type_structure.extent`.

    Expressions may be of any depth; their types and attributes may not, whether they
    contain each other or by an expression in between.
    """

    def __init__(self) -> None:
        # By id; the objects are kept, so that no id is given to another one.
        self._known: dict[int, tuple[int, Any]] = {}

    def check(self, item: Any) -> None:
        """Check a type, attributes or a span.

        Raises:
            SizeLimitError: It is nested too deep.
        """
        known = self._known
        waiting: list[Any] = [item]
        while waiting:
            one = waiting[-1]
            parts = parts_of(one)
            unknown = [part for part in parts if id(part) not in known]
            if unknown:
                waiting += unknown
                continue
            inside = max((known[id(part)][0] for part in parts), default=-1)
            known[id(one)] = _depth_of(one, inside), one
            waiting.pop()


def _depth_of(item: Any, inside: int) -> int:
    if isinstance(item, UnknownDim):  # a part of a tensor's type
        return -1
    depth = max(inside, 0) if isinstance(item, _FLAT) else inside + 1
    if depth > MAX_TYPE_DEPTH:
        raise SizeLimitError(
            f"this {type(item).__name__} is nested more than {MAX_TYPE_DEPTH} deep"
        )
    return depth
