"""What tests register, which is to be gone when they end."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

from parpass import tables
from parpass.tables import Table


@contextlib.contextmanager
def registering_for_a_while() -> Generator[None]:
    """Take out again what is registered in the block, in any table.

    What was registered in the place of the library's own gives it back its place.
    """
    all_tables: dict[str, Table[Any, Any]] = vars(tables)["_tables"]
    replaced = {what: dict(table) for what, table in all_tables.items()}
    before = {str(entry) for entry in tables.program_entries()}
    yield
    for entry in tables.program_entries():
        if str(entry) not in before and not entry.is_removed:
            table, key = all_tables[entry.table], entry.key
            del table[key]
            del table.removed[key]
            if key in replaced[entry.table]:
                dict[Any, Any].__setitem__(table, key, replaced[entry.table][key])
