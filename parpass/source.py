"""The source of a large value that is kept in another process."""

from __future__ import annotations

from typing import Any, Protocol


class Source(Protocol):
    """The location of a large value that is kept out of a function's bytes."""

    @property
    def original(self) -> Any:
        """The value itself if it came from this process, else None."""
        ...

    def fetch(self) -> memoryview:
        """Return its bytes, read-only; this may request them from another process."""
        ...
