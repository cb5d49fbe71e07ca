"""The functions of a module at the start of a step, as a lazy mapping.

A pass gets them as a read-only mapping, which records what the pass reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from parpass.runner.ipc.function_outcome import (
    ANY_FUNCTION,
    READ_EVERYTHING,
    Read,
    ReadKind,
)
from parpass.runner.stage.versions import FunctionVersions
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.read_only_functions import RefusesWrites

_SCAN_THRESHOLD = 16  # functions; a pass that reads more is taken to read all
_MAX_DEPENDENCIES = 64  # that are listed; if there are more, it is `ANY_FUNCTION`


class Reads:
    """The reads of a pass from the functions of a module.

    Attributes:
        names: The functions that were read.
        was_scanned: Whether all names were iterated, or many functions read. Then an
            analysis that the pass leaves with the module is expensive, and valid for
            other functions.
        dependencies: The dependencies and reads of that analysis; see
            `FunctionOutcome`.
    """

    __slots__ = ("dependencies", "names", "was_scanned")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.was_scanned = False
        self.dependencies: set[int | Read] = set()

    def add_dependencies(self, dependencies: set[int | Read]) -> None:
        """Add the dependencies of an analysis that other functions may use, too."""
        self.dependencies |= dependencies
        if len(self.dependencies) > _MAX_DEPENDENCIES:
            has_reads = any(isinstance(one, tuple) for one in self.dependencies)
            self.dependencies = {ANY_FUNCTION}
            if has_reads:
                self.dependencies.add(READ_EVERYTHING)


class FunctionView(RefusesWrites):
    """The functions of a module at the start of a step.

    `reader` is the name of its pass.
    """

    __slots__ = ("_at", "_versions", "reads")

    _versions: FunctionVersions
    _at: int
    reads: Reads

    def __init__(
        self,
        versions: FunctionVersions,
        at: int,
        reader: str,
        adapter: ModuleAdapter,
    ) -> None:
        super().__init__(reader, adapter, _versions=versions, _at=at, reads=Reads())

    def __getitem__(self, name: str) -> Any:
        reads = self.reads
        reads.names.add(name)
        reads.was_scanned = reads.was_scanned or len(reads.names) > _SCAN_THRESHOLD
        return self._own(name, self._versions.version(name, self._at))

    def signature(self, name: str) -> Any | None:
        """Return the signature of a function, mostly without making the function."""
        return self._versions.signature(name, self._at)

    def note_name(self, name: str) -> None:
        """Note that the pass reads a reference to a function."""
        self._versions.note(ReadKind.NAME, name)

    def note_names(self) -> None:
        self._versions.note(ReadKind.NAMES)

    def note_shell(self) -> None:
        """Note a read of the rest of the module, such as texts of sources.

        A module calls it.
        """
        self._versions.note(ReadKind.SHELL)

    def __iter__(self) -> Iterator[str]:
        self.reads.was_scanned = True
        self.note_names()
        return iter(self._versions.index)

    def __len__(self) -> int:
        self.note_names()
        return len(self._versions.index)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            self._versions.note(ReadKind.NAME, name)
        return name in self._versions.index
