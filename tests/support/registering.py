"""What tests register, which is to be gone when they end."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from parpass import replicated_tables
from parpass.replicated_tables import Entry, ReplicatedTable, TypeName


@contextlib.contextmanager
def registering_for_a_while() -> Generator[None]:
    """Have all tables as they were when the block ends.

    What is registered in it is taken out again, and what was replaced or taken out is
    put back.
    """
    all_tables = _all_tables()
    kept = {what: dict(table) for what, table in all_tables.items()}
    added = {what: dict(table.added) for what, table in all_tables.items()}
    before = {
        (str(entry), entry.is_removed) for entry in replicated_tables.program_entries()
    }
    yield
    for entry in replicated_tables.program_entries():
        if (str(entry), entry.is_removed) not in before:
            table = all_tables[entry.table]
            key = _key_of(entry, table)
            if not entry.is_removed:
                del table[key]
            del table.removed[key]
            if key in kept[entry.table]:
                dict[Any, Any].__setitem__(table, key, kept[entry.table][key])
    for what, modules in added.items():
        for key, module in modules.items():
            if all_tables[what].get(key) is not kept[what].get(key):
                all_tables[what][key] = kept[what][key]
                all_tables[what].added[key] = module


@contextlib.contextmanager
def nothing_registered() -> Generator[None]:
    """Have no table with an entry of the tests' own until the block ends.

    The keys of a function cache have the whole program as soon as its code is
    registered, and here the program is all tests.
    """
    all_tables = _all_tables()
    before = [
        (table, dict(table), dict(table.added), dict(table.removed))
        for table in all_tables.values()
    ]
    for table in all_tables.values():
        for key in [*table.added]:
            del table[key]
        table.removed.clear()
    try:
        yield
    finally:
        for table, entries, added, removed in before:
            for key in [*table.added, *table.removed, *added]:
                table.pop(key, None)
                if key in entries:
                    table[key] = entries[key]
            table.added.clear()
            table.added.update(added)
            table.removed.clear()
            table.removed.update(removed)


def all_registered() -> Mapping[str, Mapping[Any, Any]]:
    """Return a copy of all tables."""
    return {what: dict(table) for what, table in _all_tables().items()}


def take_out_but(kept: Sequence[Entry], first: Mapping[str, Mapping[Any, Any]]) -> None:
    """Take out what was registered besides some entries, and not by an import.

    What the import of a module registers stays, as does the module. What was in the
    place of something in a copy of the tables gives way to that.
    """
    all_tables = _all_tables()
    names = {str(entry) for entry in kept}
    for entry in replicated_tables.program_entries():
        if entry.has_state and str(entry) not in names:
            table = all_tables[entry.table]
            del table[entry.key]
            del table.removed[entry.key]
            replaced = first.get(entry.table, {})
            if entry.key in replaced:
                dict[Any, Any].__setitem__(table, entry.key, replaced[entry.key])


def _all_tables() -> dict[str, ReplicatedTable[Any, Any]]:
    return vars(replicated_tables)["_tables"]


def _key_of(entry: Entry, table: ReplicatedTable[Any, Any]) -> Any:
    """Return the key of an entry: a class, also where its module is gone by now."""
    told = entry.key
    if not isinstance(told, TypeName):
        return told
    classes = (one for one in (*table, *table.removed) if isinstance(one, type))
    return next(one for one in classes if (one.__module__, one.__qualname__) == told)
