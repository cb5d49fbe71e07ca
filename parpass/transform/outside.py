"""What a function's bytes leave out: large values, and where theirs are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from parpass.runtime.source import Source


class LargeValue(Protocol):
    """A value in a function whose bytes are many, and seldom looked at: weights."""

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        ...

    @property
    def source(self) -> Source | None:
        """What `decode_function` was given for it, None if it was made here."""
        ...

    def raw(self) -> memoryview:
        """Return its bytes."""
        ...


# Takes a large value and returns its index among the sources that the decoder will be
# given; None if it is to be encoded with the rest.
KeepOutside = Callable[[LargeValue], int | None]
