"""The functions of a module at the start of a step, as a lazy mapping.

A pass gets them as a read-only mapping, which records what the pass reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from parpass.runner.ipc.messages import ANY_FUNCTION

_SCAN_THRESHOLD = 16  # functions; a pass that reads more is taken to read all
_MAX_DEPENDENCIES = 64  # that are listed; if there are more, it is `ANY_FUNCTION`


class VersionProvider(Protocol):
    """The part of `StageInterpreter` that makes versions of functions."""

    def names(self) -> Mapping[str, int]:
        """Return the names of all functions, in module order, with their indices."""
        ...

    def version(self, name: str, at: int) -> Any:
        """Return a function at the start of step `at`."""
        ...

    def signature(self, name: str, at: int) -> Any | None:
        """Return the signature of a function at the start of a step, if it has one."""
        ...


class FunctionView(Mapping[str, Any]):
    """The functions of a module at the start of a step.

    Args:
        provider: Makes the versions of functions.
        at: The index of the step.

    Attributes:
        was_read: Whether a function, or its signature, was read.
        was_scanned: Whether all names were iterated, or many functions read. Then an
            analysis that the pass caches with the module is expensive, and valid for
            other functions.
        dependencies: The dependencies of that analysis; see `FunctionOutcome`.
    """

    def __init__(self, provider: VersionProvider, at: int) -> None:
        self._provider = provider
        self._at = at
        self._names_read: set[str] = set()
        self.was_read = self.was_scanned = False
        self.dependencies: set[int] = set()

    def add_dependencies(self, dependencies: set[int]) -> None:
        """Add the dependencies of an analysis that other functions may use, too."""
        self.dependencies |= dependencies
        if len(self.dependencies) > _MAX_DEPENDENCIES:
            self.dependencies = {ANY_FUNCTION}

    def __getitem__(self, name: str) -> Any:
        self.was_read = True
        self._names_read.add(name)
        self.was_scanned = self.was_scanned or len(self._names_read) > _SCAN_THRESHOLD
        return self._provider.version(name, self._at)

    def signature(self, name: str) -> Any | None:
        """Return the signature of a function, mostly without making the function."""
        self.was_read = True
        return self._provider.signature(name, self._at)

    def __iter__(self) -> Iterator[str]:
        self.was_scanned = True
        return iter(self._provider.names())

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def copy(self) -> dict[str, Any]:
        """Return all functions as a dict, as the mapping of a serial run does."""
        return dict(self)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self}

    def __len__(self) -> int:
        return len(self._provider.names())

    def __contains__(self, name: object) -> bool:
        return name in self._provider.names()
