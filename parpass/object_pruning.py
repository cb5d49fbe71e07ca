"""The objects of a table that there is no room for: those not used for longest.

They are dropped in chunks, between which other processes use the table.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

_AHEAD_SECONDS = 60.0  # of the clock, by which a time of use may be
# A chunk of what is dropped: so short a time no other process can use the table.
_CHUNK_OBJECTS, _CHUNK_BYTES = 1_000, 16_000_000
# When an object was used. A time to come was taken from a clock that was set back
# since, and tells nothing, not even to whom it seems the last.
_USED = "case when used > :soon then 0 else used end"
_TOTAL = "select coalesce(sum(length(data)), 0) from object"
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


def find_cut(table: sqlite3.Connection, most_bytes: int, now: float) -> Cut | None:
    """Return from where on objects are dropped, so that others have so many bytes.

    None if all have room. It goes through all that is there.
    """
    if table.execute(_TOTAL).fetchone()[0] <= most_bytes:
        return None
    soon = now + _AHEAD_SECONDS
    first = table.execute(_CUT, {"most": most_bytes, "soon": soon}).fetchone()
    if first is None:
        return None
    used, key = first
    return Cut(used, key, soon)


def drop_chunk(table: sqlite3.Connection, cut: Cut) -> Cut | None:
    """Drop some objects; return the cut for the rest, or None if these were all."""
    objects = nbytes = 0
    last = None
    values = cut._asdict()
    for key, size in table.execute(_OLD, values):
        objects, nbytes = objects + 1, nbytes + size
        if objects >= _CHUNK_OBJECTS or nbytes >= _CHUNK_BYTES:
            last = key
            break
    if last is None:
        table.execute(_DROP, values)
        return None
    table.execute(_DROP + _UP_TO, {**values, "last": last})
    return cut._replace(after=last)
