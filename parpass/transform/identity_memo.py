"""Values by the identity of objects, as long as these live."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

ValueT = TypeVar("ValueT")


class _Reference(weakref.ref[Any]):
    """A reference to an object, with the number that `id` gave, and a value."""

    __slots__ = "known", "number", "value"


class IdentityMemo(Generic[ValueT]):
    """A mapping from objects, by identity, that keeps none of them alive."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}

    def get(self, key: Any) -> ValueT | None:
        known = self._known.get(id(key))
        return known.value if known is not None and known() is key else None

    def put(self, key: Any, value: ValueT) -> bool:
        """Set the value of an object; return whether it can have weak references."""
        try:
            made = _Reference(key, _forget)
        except TypeError:
            return False
        made.known, made.number, made.value = self._known, id(key), value
        self._known[made.number] = made
        return True


def _forget(gone: Any) -> None:
    if gone.known.get(gone.number) is gone:  # not of another object that has its number
        del gone.known[gone.number]
