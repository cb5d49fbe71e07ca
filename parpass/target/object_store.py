"""Keeps objects from one build to the next: on disk, bounded, for all processes.

It is a table of SQLite, safe under several processes that may end at any time.
Nothing in it is a pickle. What is taken out is linked into libraries and run, so the
folder is its owner's alone. A store that cannot be used is as good as an empty one: a
build then takes longer, with one warning, and comes to the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from parpass.errors import SlowerRunWarning
from parpass.errors.warning import warn

_MOST_BYTES = 1 << 30
_WAITING_SECONDS = 30  # for another process that writes
_CREATE = """
create table if not exists object (
  key text primary key, used real not null, digest blob not null, data blob not null
)
"""
_T = TypeVar("_T")


class StoreSize(NamedTuple):
    """How many objects there are, and how many bytes they have."""

    objects: int
    nbytes: int


class ObjectStore:
    """Objects by key.

    Args:
        folder: Where it is; `default_folder()` if none is given, which is asked for
            when it is needed.
        most_bytes: How many bytes of objects are kept: those that were used last.
    """

    def __init__(
        self, folder: Path | None = None, most_bytes: int = _MOST_BYTES
    ) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    @property
    def folder(self) -> Path:
        """Where it is.

        Raises:
            OSError: None was given, and there is no folder of the user's.
        """
        return self._folder or default_folder()

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return those of the objects that are there, by key."""
        wanted = list(keys)

        def look(table: sqlite3.Connection) -> dict[str, bytes]:
            found: dict[str, bytes] = {}
            for key in wanted:
                query = "select digest, data from object where key = ?"
                for digest, data in table.execute(query, (key,)):
                    # What is damaged is as if it were not there, whatever it is.
                    if type(data) is bytes and _digest(data) == digest:
                        found[key] = data
            now = [(time.time(), key) for key in found]
            table.executemany("update object set used = ? where key = ?", now)
            return found

        return self._do(look, {}) if wanted else {}

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Keep objects; `drop_old` sees to it that there are not too many."""

        def enter(table: sqlite3.Connection) -> None:
            rows = [(k, time.time(), _digest(v), v) for k, v in objects.items()]
            table.executemany("insert or replace into object values (?, ?, ?, ?)", rows)

        if objects:
            self._do(enter, None, creates=True)

    def drop_old(self) -> bool:
        """Drop what was not used for longest, as far as there is too much.

        Apart from `put`, since it goes through all that is there.

        Returns:
            Whether the store can be used.
        """

        def drop(table: sqlite3.Connection) -> bool:
            size = "coalesce(length(data), 0)"
            rows = f"select key, {size} from object order by used desc, key"
            kept, old = 0, list[tuple[str]]()
            for key, nbytes in table.execute(rows):
                kept += nbytes
                if kept > self._most_bytes:
                    old.append((key,))
            table.executemany("delete from object where key = ?", old)
            return True

        return self._do(drop, otherwise=False, creates=True)

    def size(self) -> StoreSize:
        """Return how much is there."""
        query = "select count(*), coalesce(sum(length(data)), 0) from object"
        return self._do(
            lambda table: StoreSize(*table.execute(query).fetchone()), StoreSize(0, 0)
        )

    def clear(self) -> StoreSize:
        """Drop all objects, and return how much that was.

        Raises:
            OSError: The file cannot be removed.
        """
        dropped = self.size()
        for name in (self._path.name, f"{self._path.name}-journal"):
            (self.folder / name).unlink(missing_ok=True)
        return dropped

    @property
    def _path(self) -> Path:
        return self.folder / "objects.sqlite"

    def _do(
        self,
        work: Callable[[sqlite3.Connection], _T],
        otherwise: _T,
        *,
        creates: bool = False,
    ) -> _T:
        """Do something in one transaction, whole or not at all."""
        where = "it"
        try:
            path = self._path
            where = f"'{path}'"
            if creates:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            elif not path.exists():
                return otherwise
            table = sqlite3.connect(path, timeout=_WAITING_SECONDS)
            with contextlib.closing(table):
                # Processes that end at any time do no harm. To wait for the disk, 10 ms
                # an object, would help against a loss of power; what that damages is
                # not given.
                table.execute("pragma synchronous = off")
                with table:
                    table.execute(_CREATE)
                    return work(table)
        except (sqlite3.Error, OSError) as error:
            warn(
                f"objects are not kept between builds: {where} cannot be used "
                f"({error}); 'parpass cache --clear' begins a new one",
                SlowerRunWarning,
            )
            return otherwise


def default_folder() -> Path:
    """Return where objects are kept: a folder of the user's, as systems have them.

    `PARPASS_CACHE_DIR` in the environment names another one.

    Raises:
        OSError: The user has no home.
    """
    given = os.environ.get("PARPASS_CACHE_DIR")
    if given:
        return Path(given)
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:  # an account that systems make up has none
        raise FileNotFoundError(f"{error} PARPASS_CACHE_DIR may name one") from None
    return Path(base) / "parpass"


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
