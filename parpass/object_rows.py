"""The rows of a table of objects: its columns, and all that is asked of them.

A digest covers key and object, so damage to either is a missing object, and no other
object is found in its place. Those not used for longest are dropped where there is no
room for all, in chunks, between which other processes use the table.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

_FORMAT = 1  # files that say none have 0: their digests are of objects without keys
# A table that is its own index: else damage to an index leads from one key to the row
# of another, and what is put in its place leaves the index as it is.
_CREATE = """
create table object (
  key text primary key, used real not null, digest blob not null, data blob not null
) without rowid
"""
_MOST_KEYS = 500  # of one query: SQLite bounds their number
_AHEAD_SECONDS = 60.0  # of the clock, by which a time of use may be
# A chunk of what is dropped: so short a time no other process can use the table.
_CHUNK_OBJECTS, _CHUNK_BYTES = 1_000, 16_000_000
# When an object was used. A time to come was taken from a clock that was set back
# since, and tells nothing, not even to whom it seems the last.
_USED = "case when used > :soon then 0 else used end"
# The first, in the order of use, of those that there is no room for.
_CUT = f"""
select used, key from (
  select used, key, sum(size) over (order by used desc, key) as kept from (
    select {_USED} as used, key, coalesce(length(data), 0) as size from object
  )
) where kept > :most order by used desc, key limit 1
"""
_IS_OLD = f"""
key > cast(:after as text)
and (({_USED}) < :used or (({_USED}) = :used and key >= cast(:key as text)))
"""
_OLD = f"""
select key, coalesce(length(data), 0) from object where {_IS_OLD} order by key
"""
_DROP = f"delete from object where {_IS_OLD}"
_UP_TO = " and key <= cast(:last as text)"


class StoreSize(NamedTuple):
    objects: int = 0
    nbytes: int = 0


class Cut(NamedTuple):
    """The place from which on objects are dropped, in the order of their last use.

    Attributes:
        used: When the first of them was used.
        key: The key of that one, encoded.
        soon: The time from which on a time of use says nothing.
        after: The key, encoded, up to which those that are dropped are gone.
    """

    used: float
    key: bytes
    soon: float
    after: bytes = b""


class ObjectRows:
    """The rows, as a connection sees them whose `text_factory` is `bytes`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def have_format(self) -> bool:
        """Return whether there are rows as they are read and written here."""
        return self._row("pragma user_version") == (_FORMAT,)

    def create(self) -> None:
        """Begin anew, in place of rows of another format."""
        self._connection.execute("drop table if exists object")
        self._connection.execute(_CREATE)
        self._connection.execute(f"pragma user_version = {_FORMAT}")

    def get(self, keys: Iterable[str]) -> tuple[dict[str, bytes], list[str]]:
        """Return the objects that are there, by key, and the keys of damaged ones."""
        wanted = {key.encode(): key for key in keys}
        found: dict[str, bytes] = {}
        damaged: list[str] = []
        query = "select key, digest, data from object"
        for name, digest, data in self._with_keys(query, wanted.values()):
            key = wanted.get(name)
            if key is not None and _fits(name, digest, data):
                found[key] = data
            elif key is not None:
                damaged.append(key)
        return found, damaged

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Return the keys that no object is stored under."""
        wanted = {key.encode(): key for key in keys}
        for (name,) in self._with_keys("select key from object", wanted.values()):
            wanted.pop(name, None)
        return [*wanted.values()]

    def put(self, objects: Mapping[str, bytes], now: float) -> None:
        rows = [
            (key, now, _digest_of(key.encode(), data), data)
            for key, data in sorted(objects.items())
        ]
        change = "insert or replace into object values (?, ?, ?, ?)"
        self._connection.executemany(change, rows)

    def note_use(self, keys: Iterable[str], now: float) -> None:
        self._with_keys("update object set used = ?", keys, now)

    def drop(self, keys: Iterable[str]) -> None:
        self._with_keys("delete from object", keys)

    def size(self) -> StoreSize:
        query = "select count(*), coalesce(sum(length(data)), 0) from object"
        return StoreSize(*self._row(query))

    def state(self, *, verify: bool) -> tuple[StoreSize, int]:
        """Return the size, and, to `verify` each object, how many are damaged."""
        # Also without: a column of another name is noticed here.
        rows = self._connection.execute("select key, digest, data from object")
        return self.size(), sum(not _fits(*row) for row in rows) if verify else 0

    def free_share(self) -> float:
        """Return the share of the file that has no rows in it."""
        free, pages = (
            self._row(f"pragma {name}")[0] for name in ("freelist_count", "page_count")
        )
        return free / max(1, pages)

    def find_cut(self, most_bytes: int, now: float) -> Cut | None:
        """Return from where on objects are dropped, so that others have so many bytes.

        None if all have room. It goes through all that is there.
        """
        if self.size().nbytes <= most_bytes:
            return None
        soon = now + _AHEAD_SECONDS
        first = self._row(_CUT, {"most": most_bytes, "soon": soon})
        if first is None:
            return None
        used, key = first
        return Cut(used, key, soon)

    def drop_chunk(self, cut: Cut) -> Cut | None:
        """Drop some objects; return the cut for the rest, or None if these were all."""
        objects = nbytes = 0
        values = cut._asdict()
        for key, size in self._connection.execute(_OLD, values):
            objects, nbytes = objects + 1, nbytes + size
            if objects >= _CHUNK_OBJECTS or nbytes >= _CHUNK_BYTES:
                last = {**values, "last": key}
                self._connection.execute(_DROP + _UP_TO, last)
                return cut._replace(after=key)
        self._connection.execute(_DROP, values)
        return None

    def _with_keys(
        self, statement: str, keys: Iterable[str], *values: Any
    ) -> list[tuple[Any, ...]]:
        """Execute a statement on the rows of some keys; return what it selects."""
        ordered, rows = sorted(keys), list[tuple[Any, ...]]()
        for at in range(0, len(ordered), _MOST_KEYS):
            some = ordered[at : at + _MOST_KEYS]
            which = f"where key in ({', '.join('?' * len(some))})"
            made = self._connection.execute(f"{statement} {which}", (*values, *some))
            rows += made.fetchall()
        return rows

    def _row(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
        return self._connection.execute(query, values).fetchone()


def _fits(name: Any, digest: Any, data: Any) -> bool:
    """Return whether `put` entered a row, which may have values of any type."""
    return type(name) is type(data) is bytes and _digest_of(name, data) == digest


def _digest_of(name: bytes, data: bytes) -> bytes:
    """Return the digest of an object under a key, which damage to either changes."""
    told = hashlib.blake2b(len(name).to_bytes(8, "little"), digest_size=16)
    told.update(name)
    told.update(data)
    return told.digest()
