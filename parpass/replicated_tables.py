"""Registries of this process that are replicated to the workers of a run.

Operators, options, global functions and the like are registered by name in tables.
Entries made by parpass are equal in all processes that import the registering module.
Entries made by the program are replicated: an entry made by an import, by importing
that module in the worker when a pass first looks the entry up; any other entry, by
value. They are in force in the worker while it executes that run. An entry that cannot
be replicated is missing in the worker, which is an error only if a pass looks it up.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from parpass.lazy_loader import load_module
from parpass.program_modules import is_by_value, is_found_by_name

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")

_tables: dict[str, ReplicatedTable[Any, Any]] = {}  # by kind of entry
_missing: list[tuple[str, str]] = []
_last_change = object()  # replaced at each change of any table
_entries: tuple[object, tuple[Entry, ...]] = None, ()  # the entries after a change
_declared: Sequence[Entry] | None = None  # foreign entries that are in force


class ReplicatedTable(dict[KeyT, ValueT]):
    """A registry, a dict, that records which entries the program added and removed.

    Add entries only by item assignment, and remove them only by `del`. Foreign entries
    are those replicated to this process by the coordinator.

    Args:
        entry_kind: The word for an entry in messages; unique to the table.

    Attributes:
        module: The module that defines the table.
        added: Entries that the program added, each with the module whose import added
            it, or None.
        removed: Keys that the program removed.
        unpicklable: Entries that cannot be sent: the value and the reason.
        shadowed: Own entries that foreign ones replace: a list with one value, or an
            empty list if there was none.
        missing: Foreign entries that have not been loaded (yet), by key, or by
            `TypeName` if the key is a class.
    """

    def __init__(self, entry_kind: str) -> None:
        super().__init__()
        self.entry_kind = entry_kind
        self.module = _importing()
        self.added: dict[KeyT, str | None] = {}
        self.removed: dict[KeyT, None] = {}
        self.unpicklable: dict[KeyT, tuple[ValueT, str]] = {}
        self.shadowed: dict[KeyT, list[ValueT]] = {}
        self.missing: dict[KeyT | TypeName, Entry] = {}
        _tables[entry_kind] = self

    def __setitem__(self, key: KeyT, value: ValueT) -> None:
        module = _importing()
        if key in self.shadowed:
            if module is None or module == "__main__":
                super().__setitem__(key, value)  # a pass body's: discarded with it
                return
            self.shadowed[key] = [value]
        else:
            super().__setitem__(key, value)
        self.removed.pop(key, None)
        if module is not None and module.partition(".")[0] == "parpass":
            self.added.pop(key, None)
        else:
            self.added[key] = module
        _record_change()

    def __delitem__(self, key: KeyT) -> None:
        super().__delitem__(key)
        if key not in self.shadowed:
            self.added.pop(key, None)
            self.removed[key] = None
        _record_change()

    def is_defined_here(self, key: KeyT) -> bool:
        """Return whether the key has an entry that is not foreign."""
        return key in self and key not in self.shadowed

    def find(self, key: KeyT) -> ValueT | None:
        """Return an entry, loading it if it is missing; None if there is none."""
        if self.missing and (portable := _portable_key(key)) in self.missing:
            self.load_missing(portable)
        return self.get(key)

    def load_missing(self, *keys: KeyT | TypeName) -> None:
        """Import the modules that add missing entries; record failures.

        `take_missing` returns the first failure.
        """
        for key in keys:
            entry = self.missing.get(key)
            if entry is None:
                continue
            why = entry.why_unpicklable or _import_problem(entry, self)
            if why is None:
                self.missing.pop(key, None)
            else:
                record_missing(f"the {entry}", why)

    def state_of(self, key: KeyT) -> Any:
        """Return the state that is sent for an entry."""
        return self[key]

    def declare(self, key: KeyT) -> None:
        """Add a foreign entry that others can refer to before its state is restored."""

    def restore(self, key: KeyT, state: Any) -> None:
        """Add the foreign entry whose state `state_of` returned."""
        super().__setitem__(key, state)

    def shadow(self, key: KeyT) -> None:
        """Save the own entry, if any, as a foreign one replaces it."""
        self.shadowed.setdefault(key, [self[key]] if key in self else [])

    def mask(self, key: KeyT) -> None:
        """Hide an entry while foreign entries are in force."""
        super().pop(key, None)

    def unload(self) -> None:
        """Remove foreign entries, and restore those that they shadowed."""
        for key, replaced in self.shadowed.items():
            if replaced:
                super().__setitem__(key, replaced[0])
            else:
                self.mask(key)
        self.shadowed.clear()
        self.missing.clear()


class TypeName(NamedTuple):
    """The qualified name of a class that is a key.

    A process that receives the entry need not import the class's module, with all that
    this imports, before the class is used.
    """

    module: str
    name: str

    def __repr__(self) -> str:
        return f"<class '{self.module}.{self.name}'>"

    def loaded(self) -> Any:
        """Return the class, or this name if its module has not been imported."""
        return getattr(sys.modules.get(self.module), self.name, self)


class Entry(NamedTuple):
    """A change of the program to a table, without the entry's state.

    Attributes:
        table_module: The module that defines the table.
        table: The kind of the table's entries.
        key: The key; a `TypeName` for a class that other processes can import.
        module: The module whose import adds the entry, or None.
        why_unpicklable: Why it cannot be sent, or None.
        is_removed: Whether it was removed.
    """

    table_module: str
    table: str
    key: Any
    module: str | None = None
    why_unpicklable: str | None = None
    is_removed: bool = False

    def __str__(self) -> str:
        return f"{self.table} {self.key!r}"

    @property
    def has_state(self) -> bool:
        return (
            self.module is None and self.why_unpicklable is None and not self.is_removed
        )


def program_entries() -> tuple[Entry, ...]:
    """Return the changes of the program to the tables of this process, in order.

    Until the next change, each call returns one and the same tuple.
    """
    global _entries
    change, entries = _last_change, _entries
    if entries[0] is not change:
        entries = _entries = change, tuple(_program_entries())
    return entries[1]


def _program_entries() -> list[Entry]:
    found: list[Entry] = []
    for kind, table in tuple(_tables.items()):
        table_module, removed = str(table.module), tuple(table.removed)
        found += [Entry(table_module, kind, key, is_removed=True) for key in removed]
        for key, module in tuple(table.added.items()):
            module = importable(module)
            value, why = table.unpicklable.get(key, (None, None))
            if module is not None or value is not table.get(key):
                why = None
            portable = key if module is None else _portable_key(key)
            found.append(Entry(table_module, kind, portable, module, why))
    return found


def local_key(entry: Entry) -> Any:
    """Return an entry's key in this process: a class, if its module is imported."""
    key = entry.key
    return key.loaded() if isinstance(key, TypeName) else key


def _portable_key(key: Any) -> Any:
    """Return a key as it is sent: a `TypeName` for an importable class."""
    if not isinstance(key, type):
        return key
    name = TypeName(key.__module__, key.__qualname__)
    is_importable = importable(name.module) is not None
    return name if is_importable and name.loaded() is key else key


def state_of(entry: Entry) -> Any:
    return _tables[entry.table].state_of(entry.key)


def value_of(entry: Entry) -> Any:
    return _tables[entry.table].get(local_key(entry))


def exclude(entry: Entry, why: str) -> None:
    """Mark the present value of an entry of this process as unpicklable: not sent."""
    table = _tables[entry.table]
    if entry.key in table:
        table.unpicklable[entry.key] = table[entry.key], why
    _record_change()


def declare_all(entries: Sequence[Entry]) -> None:
    """Declare the entries of another process, in place of those declared before.

    Own entries are shadowed; entries with a state are complete after `restore`.
    """
    global _declared
    if entries is _declared:
        return
    unload_foreign()
    for entry in entries:
        load_module(entry.table_module)
        table, key = _tables[entry.table], local_key(entry)
        if entry.module is not None:
            if key in table and table.added.get(key) != entry.module:
                load_module(entry.module)  # its import replaces parpass's own entry
            if key not in table:
                table.missing[_portable_key(key)] = entry
            continue
        table.shadow(key)
        if entry.has_state:
            table.declare(key)
            continue
        table.mask(key)
        if entry.why_unpicklable is not None:
            table.missing[_portable_key(key)] = entry
    _declared = entries


def restore(entry: Entry, state: Any) -> None:
    """Set the state of a foreign entry, in force until `unload_foreign`."""
    _tables[entry.table].restore(entry.key, state)


def unload_foreign() -> None:
    global _declared
    _declared = None
    _missing.clear()
    for table in _tables.values():
        if table.shadowed or table.missing:
            table.unload()


def record_missing(what: str, why: str) -> None:
    """Record that this process, a worker, lacks something that a pass asks for."""
    _missing.append((what, why))


def take_missing() -> tuple[str, str] | None:
    """Return the first thing recorded as missing, with the reason, and forget all."""
    found = _missing[0] if _missing else None
    _missing.clear()
    return found


def _import_problem(entry: Entry, table: ReplicatedTable[Any, Any]) -> str | None:
    assert entry.module is not None
    try:
        load_module(entry.module)
    except Exception as error:  # noqa: BLE001 -- importing user code may raise anything
        return f"{type(error).__name__}: {error}"
    if local_key(entry) in table:
        return None
    return f"the import of '{entry.module}' has registered it elsewhere, and not here"


def _record_change() -> None:
    global _last_change
    _last_change = object()


def _importing() -> str | None:
    """Return the name of the innermost module under execution, if any."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            return str(frame.f_globals.get("__name__"))
        frame = frame.f_back
    return None


def importable(module: str | None) -> str | None:
    """Return a module's name if other processes import that module by it, else None."""
    if module is None or is_by_value(module) or not is_found_by_name(module):
        return None
    return module
