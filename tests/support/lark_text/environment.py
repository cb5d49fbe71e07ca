"""The names in scope at the place that is being read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from parpass.relay.expr import Expr


class _Meaning(NamedTuple):
    expr: Expr
    line_of: int  # the depth of the block in which it is the name of a line, or -1


class Environment:
    """What the names `%x`, `%0` mean here; leaving a scope undoes its bindings.

    Entering and leaving a scope cost no more than what is bound in it, so that blocks
    may be nested as deep as one likes.
    """

    def __init__(self) -> None:
        self._meanings: dict[str, _Meaning] = {}
        self._before: list[tuple[str, _Meaning | None]] = []
        self._opened: list[int] = []

    @property
    def names(self) -> Collection[str]:
        """All names, in the order in which they were bound first."""
        return self._meanings.keys()

    def open(self) -> None:
        """Enter a scope."""
        self._opened.append(len(self._before))

    def close(self) -> None:
        """Leave the innermost scope."""
        start = self._opened.pop()
        for name, meaning in reversed(self._before[start:]):
            if meaning is None:
                del self._meanings[name]
            else:
                self._meanings[name] = meaning
        del self._before[start:]

    def close_all(self) -> None:
        """Leave all scopes."""
        while self._opened:
            self.close()

    def get(self, name: str) -> Expr | None:
        """Return what a name means, None if nothing."""
        meaning = self._meanings.get(name)
        return None if meaning is None else meaning.expr

    def bind(self, name: str, expr: Expr) -> None:
        """Give a name its meaning until the innermost scope is left."""
        self._bind(name, _Meaning(expr, -1))

    def define_line(self, name: str, expr: Expr) -> bool:
        """Name a line of the innermost block.

        Returns:
            Whether no other line of the block has the name.
        """
        depth, known = len(self._opened), self._meanings.get(name)
        self._bind(name, _Meaning(expr, depth))
        return known is None or known.line_of != depth

    def _bind(self, name: str, meaning: _Meaning) -> None:
        self._before.append((name, self._meanings.get(name)))
        self._meanings[name] = meaning
