"""The attributes of functions and modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class DictAttrs(Mapping[str, Any]):
    """An immutable mapping of attributes by name, compared by content."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def __reduce__(self) -> tuple[Any, ...]:
        return DictAttrs, (self._items,)

    def __repr__(self) -> str:
        return f"DictAttrs({self._items})"
