"""The names in scope at the place that is being read."""

from __future__ import annotations

from typing import Any


class Environment:
    """What the names `%x`, `%0`, `i` mean here; leaving a scope undoes its bindings.

    Entering and leaving a scope cost no more than what is bound in it, so that blocks
    may be nested as deep as one likes.

    Attributes:
        meanings: What each name in scope means, in the order in which they were bound
            first. What is in it without having been bound, such as `add` and `@main`,
            means the same everywhere.
    """

    def __init__(self) -> None:
        self.meanings: dict[str, Any] = {}
        self._before: list[tuple[str, Any]] = []
        self._opened: list[int] = []

    def open(self) -> None:
        """Enter a scope."""
        self._opened.append(len(self._before))

    def close(self) -> None:
        """Leave the innermost scope."""
        start = self._opened.pop()
        for name, meaning in reversed(self._before[start:]):
            if meaning is None:
                del self.meanings[name]
            else:
                self.meanings[name] = meaning
        del self._before[start:]

    def close_all(self) -> None:
        """Leave all scopes."""
        while self._opened:
            self.close()

    def bind(self, name: str, meaning: Any) -> None:
        """Give a name its meaning until the innermost scope is left."""
        self._before.append((name, self.meanings.get(name)))
        self.meanings[name] = meaning
