"""`runtime.container`: tuples of values, which are Python's own here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["ADT", "tuple_object"]

ADT = tuple  # what an executor gives for a tuple


def tuple_object(fields: Iterable[Any] = ()) -> tuple[Any, ...]:
    """Return a tuple of values."""
    return tuple(fields)
