"""The functions of a module as one step of a stage finds them, made on demand.

A pass is given them as a mapping, to be read only, and it is taken down what it asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from parpass.runner.travel.function_outcome import ANYONE

_MANY = 16  # functions; who looks at more of them finds out what is true of all
_MOST = 64  # that are told by name


class MakesOthers(Protocol):
    """The work of a stage, as far as it brings functions to where a step finds them."""

    def names(self) -> Mapping[str, int]:
        """Return the names of all functions, in module order."""
        ...

    def version(self, name: str, at: int) -> Any:
        """Return a function as it stands when step `at` begins."""
        ...

    def signature(self, name: str, at: int) -> Any | None:
        """Return what a function states when step `at` begins."""
        ...


class Others(Mapping[str, Any]):
    """The functions of a module when a step begins.

    Args:
        work: Makes them.
        at: The step, by its index.

    Attributes:
        is_asked: Whether anything was asked of a function.
        is_analysed: Whether all were gone through, or many looked at: then what a pass
            remembers of it, with the module, is dear, and good for other functions.
        relied_on: What that relies on; see `FunctionOutcome`.
    """

    def __init__(self, work: MakesOthers, at: int) -> None:
        self._work = work
        self._at = at
        self._read: set[str] = set()
        self.is_asked = self.is_analysed = False
        self.relied_on: set[int] = set()

    def remember(self, relied_on: set[int]) -> None:
        """Take down what an analysis relied on that others may be told of."""
        self.relied_on |= relied_on
        if len(self.relied_on) > _MOST:
            self.relied_on = {ANYONE}

    def __getitem__(self, name: str) -> Any:
        self.is_asked = True
        self._read.add(name)
        self.is_analysed = self.is_analysed or len(self._read) > _MANY
        return self._work.version(name, self._at)

    def signature(self, name: str) -> Any | None:
        """Return what a function states, which mostly needs no making."""
        self.is_asked = True
        return self._work.signature(name, self._at)

    def __iter__(self) -> Iterator[str]:
        self.is_analysed = True
        return iter(self._work.names())

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def copy(self) -> dict[str, Any]:
        """Return all functions, as the mapping of a serial run does."""
        return dict(self)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self}

    def __len__(self) -> int:
        return len(self._work.names())

    def __contains__(self, name: object) -> bool:
        return name in self._work.names()
