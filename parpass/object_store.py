"""Keeps objects from one build to the next: on disk, bounded, for all processes.

It is a table of SQLite, safe under several processes that may end at any time.
Nothing in it is a pickle. What is taken out is linked into libraries and run: so it is
used if no other user can write to it (`parpass.trusted_paths`), and an object is given
under the key that it was put in with. A store that cannot be used is as good as an
empty one: a build then takes longer, with one warning, and comes to the same.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from parpass.errors import SlowerRunWarning
from parpass.errors.warning import warn
from parpass.object_rows import Cut, ObjectRows, StoreSize
from parpass.object_table import (
    DamagedTableError,
    ObjectTable,
    Patience,
    ReadOnlyTableError,
    error_code,
    file_of,
    remove_table,
)
from parpass.trusted_paths import UntrustedPathError

_MOST_BYTES = 1 << 30
_WAITING_SECONDS = 2.0  # for other processes, in one build
_READING_SECONDS = 0.5  # for writers, if it is only read; then it is read as it is
_DAMAGE = "cached objects damaged on disk"
_MUCH = 0.5  # of the file that is free, so that it is made smaller when it is pruned
_FAILURES = (DamagedTableError, UntrustedPathError, sqlite3.Error, OSError)
_T = TypeVar("_T")


class StoreState(NamedTuple):
    """The state of a store.

    Attributes:
        damaged: The number of objects that differ from what was stored under their
            keys.
        is_read_only: Whether it is read, and nothing is added.
        problem: Why it is not used, and what to do; empty if it is used.
    """

    size: StoreSize = StoreSize()
    damaged: int = 0
    is_read_only: bool = False
    problem: str = ""


class ObjectStore:
    """Objects by key, as one build uses them.

    Once it cannot be used, that is said in a warning, and nothing is found in it, nor
    kept, from then on. In all it waits two seconds for other processes.

    The folder that another cache has filled can be read (`only_reads`). Nothing in it
    is changed then, not even when an object was last used, so it may be on a mount that
    is read-only, or come over a network. Processes that write to it meanwhile should be
    on the same machine: over a network locks may not work, and what is half of a change
    is noticed by digests. To replace all of it there, rename a new file to it.

    Args:
        folder: The folder; None for `default_folder()`, asked for when it is needed.
        most_bytes: How many bytes of objects are kept: those that were used last.
        only_reads: Whether it is only read.

    Attributes:
        is_writable: Whether objects are stored, as far as the folder permits it.
    """

    def __init__(
        self,
        folder: Path | None = None,
        most_bytes: int = _MOST_BYTES,
        *,
        only_reads: bool = False,
    ) -> None:
        self.is_writable = not only_reads
        self._folder = folder
        self._most_bytes = most_bytes
        self._is_workers = False
        self._has_warned = False
        self.renew_patience()

    @property
    def folder(self) -> Path:
        """The path of the folder.

        Raises:
            OSError: No folder was given, and the user has none.
        """
        return self._folder or default_folder()

    def renew_patience(self) -> None:
        """Begin anew, as for another build; what was said is not said again."""
        seconds = _WAITING_SECONDS if self.is_writable else _READING_SECONDS
        self._patience = Patience(seconds)
        self._is_off = False

    def for_workers(self) -> ObjectStore:
        """Return the same store for the workers of the build.

        They may wait for half of what is left. They say nothing, and repair nothing:
        the build looks at the end what they have kept.
        """
        store = copy.copy(self)
        vars(store).update(_patience=self._patience.halved(), _is_workers=True)
        return store

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return those of the objects that are there, by key.

        What is damaged is as if it were not there, whatever it is, and is dropped.
        """
        wanted = {*keys}
        if not wanted:
            return {}
        none: tuple[dict[str, bytes], list[str]] = {}, []
        found, damaged = self._read(lambda rows: rows.get(wanted), none)

        def note(rows: ObjectRows) -> None:
            rows.note_use(found, time.time())
            rows.drop(damaged)

        if damaged:
            advice = "; they are rebuilt"
            if self.is_writable:
                advice += ", and 'parpass cache --verify' checks all others"
            self._say(f"{_DAMAGE} in '{self.folder}': {len(damaged):,}{advice}")
        if found or damaged:
            self._write(note, None)
        return found

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Store objects; `drop_old` limits their size."""
        if objects:
            self._write(lambda rows: rows.put(objects, time.time()), None)

    def put_missing(self, objects: Mapping[str, bytes]) -> None:
        missing = self._read(lambda rows: rows.missing(objects), [*objects])
        self.put({key: objects[key] for key in missing})

    def drop_old(self, most_bytes: int | None = None) -> bool:
        """Drop what was not used for longest, as far as there is too much.

        Apart from `put`, since it goes through all that is there. It is done in chunks,
        between which other processes use the table; what they use meanwhile stays.

        By default what the store may have is kept, and the file stays as it is; with
        `most_bytes` that is kept, and the file is made as small.

        Returns:
            Whether something can be put in.
        """
        most = self._most_bytes if most_bytes is None else most_bytes
        is_usable = self._write(lambda _: True, otherwise=False)
        cut = self._read(lambda rows: rows.find_cut(most, time.time()), None)
        if is_usable and cut is not None:
            self._drop(cut, is_patient=most_bytes is not None)
        if is_usable and most_bytes is not None:
            self._make_small()
        return is_usable

    def _drop(self, cut: Cut, *, is_patient: bool) -> None:
        """Drop old objects, chunk by chunk; `is_patient` waits for others each time."""
        while True:
            began = time.monotonic()
            rest = self._write(partial(ObjectRows.drop_chunk, cut=cut), None)
            if rest is None:
                return
            cut = rest
            time.sleep(time.monotonic() - began)  # for the others
            if is_patient:
                self._patience = Patience(_WAITING_SECONDS)

    def _make_small(self) -> None:
        """Give back what is free of the file, if it is much, and not in use."""
        free = self._read(ObjectRows.free_share, 0.0)
        with contextlib.suppress(ReadOnlyTableError, *_FAILURES):
            if free >= _MUCH:
                self._table().compact(Patience(_WAITING_SECONDS))

    def state(self, *, verify: bool = False) -> StoreState:
        """Return what there is to say, without a warning, and change nothing.

        Objects are looked at only to `verify` each of them.
        """
        try:
            table = self._table()
            state = partial(ObjectRows.state, verify=verify)
            found = table.read(state, (StoreSize(), 0), self._patience)
            return StoreState(*found, table.is_read_only)
        except _FAILURES as error:
            return StoreState(problem=self._problem(error))

    def clear(self) -> StoreSize:
        """Drop all objects, and return how much that was.

        Raises:
            OSError: The file cannot be removed.
        """
        dropped = self.state().size
        remove_table(self.folder)
        self._is_off = False
        return dropped

    def _table(self) -> ObjectTable:
        table = ObjectTable(self.folder, only_reads=not self.is_writable)
        if not (self.is_writable or table.exists):
            raise FileNotFoundError("there is no cache in it")
        return table

    def _read(self, work: Callable[[ObjectRows], _T], otherwise: _T) -> _T:
        return self._do(
            lambda table: table.read(work, otherwise, self._patience), otherwise
        )

    def _write(self, work: Callable[[ObjectRows], _T], otherwise: _T) -> _T:
        return self._do(lambda table: table.write(work, self._patience), otherwise)

    def _do(self, work: Callable[[ObjectTable], _T], otherwise: _T) -> _T:
        """Do something, unless it cannot be done, or could not be done before."""
        if self._is_off:
            return otherwise
        try:
            try:
                return work(self._table())
            except DamagedTableError as error:
                if not self._renewed(error):
                    raise
            return work(self._table())
        except ReadOnlyTableError:
            return otherwise
        except _FAILURES as error:
            self._is_off = True
            so = "builds are not cached"
            if not self.is_writable:
                so = "no results of earlier runs are taken from it"
            self._say(f"{so}: {self._problem(error)}")
            return otherwise

    def _renewed(self, error: DamagedTableError) -> bool:
        """Remove a damaged table, if that is for this process to do; say whether.

        Raises:
            OSError: It cannot be removed.
        """
        if self._is_workers or self._table().is_read_only:
            return False
        remove_table(self.folder)
        self._say(
            f"{_DAMAGE} in '{self.folder}': all, since '{error}'; they are rebuilt"
        )
        return True

    def _say(self, message: str) -> None:
        """Warn of something, if it is the first thing in this build."""
        if self._is_workers or self._has_warned:
            return
        self._has_warned = True
        if not self.is_writable:
            message = f"'{self.folder}', a layer of a cache: {message}"
        warn(message, SlowerRunWarning)

    def _is_default(self) -> bool:
        """Return whether it is the user's folder, and none that a program has named."""
        try:
            return self._folder is None or self._folder == default_folder()
        except OSError:  # there is no such folder
            return False

    def _problem(self, error: Exception) -> str:
        """Return why it is not used, and what to do."""
        elsewhere = "PARPASS_CACHE_DIR may name another folder"
        anew = "'parpass cache --clear' starts a new one"
        if not self._is_default():
            elsewhere = "give another folder"
            anew = f"remove '{file_of(self.folder)}' to start a new one"
        if isinstance(error, UntrustedPathError):
            remedy = f"{error.remedy}, or " if error.remedy else ""
            return f"{error}; {remedy}{elsewhere}"
        if not self.is_writable:
            return f"{error}; {elsewhere}"
        try:
            where = f"'{file_of(self.folder)}'"
        except OSError:
            return f"it cannot be used ({error})"
        if isinstance(error, OSError):
            return f"{where} cannot be used ({error}); {elsewhere}"
        is_sqlite = isinstance(error, sqlite3.Error)
        if is_sqlite and error_code(error) == sqlite3.SQLITE_BUSY:
            return (
                f"another process has had {where} locked for "
                f"{_WAITING_SECONDS:.0f} seconds; end it if it is stopped; {anew}"
            )
        return f"{where} cannot be used ({error}); {anew}, or {elsewhere}"


def default_folder() -> Path:
    """Return the folder for objects: the cache folder of the user, by system.

    `PARPASS_CACHE_DIR` in the environment overrides it.

    Raises:
        OSError: The user has no home.
    """
    given = os.environ.get("PARPASS_CACHE_DIR")
    if given:
        return Path(given)
    # Only where no folder is given.
    import platformdirs

    found = Path()
    with contextlib.suppress(RuntimeError):
        found = platformdirs.user_cache_path("parpass", appauthor=False)
    if not found.is_absolute():  # an account that systems make up has no home
        raise FileNotFoundError(
            "you have no home directory; set PARPASS_CACHE_DIR to a folder"
        )
    return found
