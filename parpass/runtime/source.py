"""Where a large value is that was left in another process."""

from __future__ import annotations

from typing import Any, Protocol


class Source(Protocol):
    """Where a large value is that was left outside of a function's bytes."""

    @property
    def original(self) -> Any:
        """The value itself where this is the process that it came from, else None."""
        ...

    def fetch(self) -> memoryview:
        """Return its bytes, read-only; they may have to be asked for."""
        ...
