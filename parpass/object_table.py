"""The table of SQLite that a store of objects is, and which of its files may be used.

Each transaction has a connection of its own, so that a process may end at any time. A
fork waits for it: SQLite has locks of the process, and notes of the files that it has
locked, which a child would take for its own. What is in the file is run, so whether it
can be trusted is looked at each time. A file that cannot be written to is read.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from errno import EACCES
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from parpass.fork_safety import forks_wait
from parpass.object_rows import ObjectRows
from parpass.trusted_paths import (
    has_trusted_file,
    make_private_file,
    make_private_folder,
    trusted_folder,
)

_NAME = "objects.sqlite"
_BESIDE = ("-journal", "-wal", "-shm")  # files that SQLite has beside it
# What SQLite says of a file of its own that was damaged.
_DAMAGED = (
    *(sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_TOOBIG),
    *(sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH),
)
# A journal has to be played back, which takes writing, or files cannot be locked.
_NOT_SO = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
_T = TypeVar("_T")


class ReadOnlyTableError(Exception):
    pass


class DamagedTableError(Exception):
    """The table is so damaged that SQLite does not find its way in it."""


class Patience:
    """The total time to wait for other processes; `seconds` are left of it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    @contextmanager
    def spent(self) -> Generator[float]:
        """Take off how long the block takes; it is given what is left."""
        begin = time.monotonic()
        try:
            yield self.seconds
        finally:
            self.seconds = max(0.0, self.seconds + begin - time.monotonic())

    def halved(self) -> Patience:
        """Return half of what is left, and keep the other half."""
        self.seconds /= 2
        return Patience(self.seconds)


class ObjectTable:
    """The table in a folder, as it is now; neither it nor the folder need be there.

    With `only_reads` it is left as it is, even if this process may write to it; then it
    is waited for no other process longer than there is patience, and read all the same.

    Raises:
        UntrustedPathError: The folder or a file in it is not to be trusted.
        OSError: They cannot be looked at.
    """

    def __init__(self, folder: Path, *, only_reads: bool = False) -> None:
        self._only_reads = only_reads
        self.path = file_of(trusted_folder(folder))
        self.exists = has_trusted_file(self.path)
        for beside in _files(self.path.parent)[1:]:  # SQLite plays a journal back
            has_trusted_file(beside)

    @property
    def is_read_only(self) -> bool:
        """Whether this process may not, or is not to, write to it."""
        if self._only_reads or not self.exists:
            return self._only_reads
        # The folder is for the journal.
        return not (_may(os.W_OK, self.path) and _may(os.W_OK, self.path.parent))

    def read(
        self,
        work: Callable[[ObjectRows], _T],
        otherwise: _T,
        patience: Patience,
    ) -> _T:
        """Look something up; return `otherwise` if there is no table, or an older one.

        Raises:
            DamagedTableError: It is damaged.
            PermissionError: This process may not read it.
            sqlite3.Error: That cannot be done: SQLITE_BUSY if it takes too long.
        """
        if not self.exists:
            return otherwise
        if not _may(os.R_OK, self.path):  # of which SQLite tells no more than of others
            raise PermissionError(EACCES, os.strerror(EACCES), str(self.path))
        is_read_only = self.is_read_only
        mode = "ro" if is_read_only else "rw"
        try:
            with self._transaction(mode, "begin", patience) as table:
                rows = ObjectRows(table)
                return work(rows) if rows.have_format() else otherwise
        except sqlite3.Error as error:
            # Where a file system over a network has no locks, it says that they are
            # taken.
            others = (sqlite3.SQLITE_BUSY,) if self._only_reads else ()
            if not is_read_only or error_code(error) not in (*_NOT_SO, *others):
                raise
        # So the file is read as it is; of what is half of a change digests tell.
        with self._transaction("ro&immutable=1", "begin", patience) as table:
            rows = ObjectRows(table)
            return work(rows) if rows.have_format() else otherwise

    def write(self, work: Callable[[ObjectRows], _T], patience: Patience) -> _T:
        """Change the table, whole or not at all; it is made if it is not there.

        Raises:
            ReadOnlyTableError: It can only be read.
            UntrustedPathError: Another user made something in its place meanwhile.
            OSError: It cannot be made.
            DamagedTableError: It is damaged.
            sqlite3.Error: That cannot be done: SQLITE_BUSY if it takes too long.
        """
        if self.is_read_only:
            raise ReadOnlyTableError
        if not self.exists:
            make_private_folder(self.path.parent)
            trusted_folder(self.path.parent)  # another user may have made it meanwhile
            make_private_file(self.path)
            has_trusted_file(self.path)
        try:
            # Behind this lock nothing is waited for any more.
            with self._transaction("rw", "begin exclusive", patience) as table:
                rows = ObjectRows(table)
                if not rows.have_format():
                    rows.create()
                done = work(rows)
                table.execute("commit")
                return done
        except sqlite3.Error as error:
            if error_code(error) == sqlite3.SQLITE_READONLY:
                raise ReadOnlyTableError from error
            raise

    def compact(self, patience: Patience) -> None:
        """Make the file as small as what is in it, while no other process uses it.

        Raises:
            ReadOnlyTableError: It can only be read.
            DamagedTableError: It is damaged.
            sqlite3.Error: That cannot be done: SQLITE_FULL where there is no room for a
                copy.
        """
        if not self.exists or self.is_read_only:
            raise ReadOnlyTableError
        with self._transaction("rw", "pragma user_version", patience) as table:
            table.execute("vacuum")

    @contextmanager
    def _transaction(
        self, mode: str, begin: str, patience: Patience
    ) -> Generator[sqlite3.Connection]:
        """Give a connection that has its lock; what is not committed is undone."""
        path = "/" + self.path.as_posix().removeprefix("/")  # "C:/" has none
        address = f"file://{quote(os.fsencode(path))}?mode={mode}"
        try:
            with forks_wait():
                with patience.spent() as seconds:
                    table = _opened(address, begin, seconds)
                with closing(table):
                    yield table
        except UnicodeDecodeError as error:  # damaged names are in SQLite's messages
            raise DamagedTableError("its text is no text") from error
        except sqlite3.Error as error:
            if error_code(error) in _DAMAGED:
                raise DamagedTableError(str(error)) from error
            raise


def _opened(address: str, begin: str, seconds: float) -> sqlite3.Connection:
    """Return a connection that has its lock, for which it may wait so long."""
    table = sqlite3.connect(address, timeout=seconds, uri=True, isolation_level=None)
    try:
        table.text_factory = bytes  # for text, damaged, may be no text
        # Processes that end at any time do no harm. To wait for the disk, 10 ms an
        # object, would help against a loss of power; what that damages is not given.
        table.execute("pragma synchronous = off")
        table.execute(begin)
        ObjectRows(table).have_format()  # now it is read, which takes the lock
    except BaseException:
        table.close()
        raise
    return table


def file_of(folder: Path) -> Path:
    return folder / _NAME


def remove_table(folder: Path) -> None:
    """Remove the files in a folder, whatever they are."""
    for path in _files(folder):
        path.unlink(missing_ok=True)


def error_code(error: sqlite3.Error) -> int:
    """Return the code of an error, without what tells more; 0 if it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _files(folder: Path) -> list[Path]:
    file = file_of(folder)
    return [file, *(file.with_name(f"{_NAME}{end}") for end in _BESIDE)]


def _may(mode: int, path: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(path, mode, effective_ids=effective)
