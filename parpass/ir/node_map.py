"""A mapping between nodes that is as immutable as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class NodeMap(Mapping[KeyT, ValueT], Generic[KeyT, ValueT]):
    """An immutable mapping from nodes to nodes, in the order in which it was given."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[KeyT, ValueT] | None = None) -> None:
        self._items: dict[KeyT, ValueT] = dict(items or {})

    def __getitem__(self, key: KeyT) -> ValueT:
        return self._items[key]

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        return NodeMap, (self._items,)

    def __repr__(self) -> str:
        return f"NodeMap({self._items})"
