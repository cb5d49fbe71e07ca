"""What tests register, which is to be gone when they end."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

from parpass import tables
from parpass.tables import Table


@contextlib.contextmanager
def registering_for_a_while() -> Generator[None]:
    """Have all tables as they were when the block ends.

    What is registered in it is taken out again, and what was replaced or taken out is
    put back.
    """
    all_tables: dict[str, Table[Any, Any]] = vars(tables)["_tables"]
    kept = {what: dict(table) for what, table in all_tables.items()}
    before = {(str(entry), entry.is_removed) for entry in tables.program_entries()}
    yield
    for entry in tables.program_entries():
        if (str(entry), entry.is_removed) not in before:
            table, key = all_tables[entry.table], entry.key
            if not entry.is_removed:
                del table[key]
            del table.removed[key]
            if key in kept[entry.table]:
                dict[Any, Any].__setitem__(table, key, kept[entry.table][key])
