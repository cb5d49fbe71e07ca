"""`runtime.container`: tuples of values, which are Python's own here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

ADT = tuple
"""What an executor gives for a tuple."""


def tuple_object(fields: Iterable[Any] | None = None) -> tuple[Any, ...]:
    """Return a tuple of values."""
    return tuple(fields or ())


__all__ = ["ADT", "tuple_object"]
