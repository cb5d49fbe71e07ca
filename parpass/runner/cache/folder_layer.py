"""The folder of another cache, as a layer of a function cache that is only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

from parpass.errors import SlowerRunWarning
from parpass.errors.warning import warn
from parpass.object_store import find_objects
from parpass.object_table import DamagedTableError, ObjectTable, Patience
from parpass.trusted_paths import UntrustedPathError

_WAITING_SECONDS = 0.5  # for writers, in one run; then it is read as it is


class FolderLayer:
    """The results in a folder that another cache has filled.

    Nothing in it is changed, not even when a result was last used, so it may be on a
    mount that is read-only, or come over a network. It must be such that no other user
    than this one, and root, can write to it (`parpass.trusted_paths`): results are
    data, of which no code is loaded, but decide what a compiler makes.

    Processes that write to it at the same time should be on the same machine. Locks may
    not work over a network; then what is half of a change is noticed by digests, and is
    a miss. To replace all of it there, rename a new file to it.
    """

    is_writable = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._patience = Patience(_WAITING_SECONDS)
        self._is_off = False
        self._has_warned = False

    def renew_patience(self) -> None:
        """Begin anew, as for another run; what was said is not said again."""
        self._patience = Patience(_WAITING_SECONDS)
        self._is_off = False

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return those of the objects that are there, by key; no damaged ones."""
        if self._is_off:
            return {}
        nothing: tuple[dict[str, bytes], list[str]] = {}, []
        try:
            table = ObjectTable(self.folder, only_reads=True)
            if not table.exists:
                self._turn_off("there is no cache in it")
                return {}
            found, damaged = table.read(
                lambda connection: find_objects(connection, keys),
                nothing,
                self._patience,
            )
        except UntrustedPathError as error:
            self._turn_off(f"{error}; {error.remedy}" if error.remedy else str(error))
            return {}
        except (DamagedTableError, sqlite3.Error, OSError) as error:
            self._turn_off(str(error))
            return {}
        if damaged:
            self._say(f"{len(damaged):,} of its results are damaged, and made again")
        return found

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Store nothing."""

    def _turn_off(self, why: str) -> None:
        """Take nothing from it in the rest of this run."""
        self._is_off = True
        self._say(f"no results of earlier runs are taken from it: {why}")

    def _say(self, what: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn(f"'{self.folder}', a layer of a cache: {what}", SlowerRunWarning)
