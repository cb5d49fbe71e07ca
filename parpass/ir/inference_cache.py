"""Cache of InferType's results: functions that need no second inference.

A function and its nodes are immutable, so a function object stays typed as long as the
global functions and types that it refers to are unchanged. The entry is encoded
with the function, for wire and store, so that it is valid in other processes too.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from parpass.ir.node import Node
from parpass.ir.types import FuncType

_NOTHING: Mapping[str, Any] = MappingProxyType({})  # shared by nearly all records


class InferenceRecord(NamedTuple):
    """Facts about a function that InferType returned.

    Attributes:
        used_globals: The types of the global functions that it refers to.
        nodes: The number of its nodes.
        used_types: Digests of the definitions of the types that it refers to.
    """

    used_globals: Mapping[str, FuncType]
    nodes: int
    used_types: Mapping[str, bytes]


_records: WeakKeyDictionary[Node, InferenceRecord] = WeakKeyDictionary()


def cache_inference(
    function: Node,
    used_globals: Mapping[str, FuncType] | None,
    nodes: int,
    used_types: Mapping[str, bytes] | None = None,
) -> None:
    """Store the record of a function that InferType returned."""
    _records[function] = InferenceRecord(
        used_globals or _NOTHING, nodes, used_types or _NOTHING
    )


def cached_inference(function: Node) -> InferenceRecord | None:
    """Return the record of a function; None if InferType did not return it."""
    return _records.get(function)
