"""Tables that programs add to, and that are to be the same in every process.

Operators, options, global functions and the like are under names in tables of this
process. What the library enters is in all processes alike, once it is imported there.
What a program enters follows its passes to the workers: by the import of the module
that entered it, when a pass asks for it, if that is how it came to be here; and by
value otherwise. There it is in force while its run is worked on. What cannot follow is
missing there, which is of no matter until a pass asks for it.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any, NamedTuple, TypeVar

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")

_tables: dict[str, Table[Any, Any]] = {}
_missed: list[tuple[str, str]] = []
_last_change = object()  # of any table of this process
_entries: tuple[object, tuple[Entry, ...]] = None, ()  # after that change
_outlined: Sequence[Entry] | None = None  # those of another process, in force here


class Table(dict[KeyT, ValueT]):
    """A dict that knows which of its entries the program made.

    Entries are made by item assignment and taken out by `del`, and by nothing else.

    Args:
        what: What an entry is, in messages; each table has another word.

    Attributes:
        added: Of the program's entries, the module whose import made each, else None.
        removed: What the program took out.
        stuck: Entries that cannot travel, and why.
        foreign: What entries of another process are in the place of: a list of one
            entry, or of none.
        missing: Entries of the other process that are not here, or not yet.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what
        self.home = _importing()
        self.added: dict[KeyT, str | None] = {}
        self.removed: dict[KeyT, None] = {}
        self.stuck: dict[KeyT, tuple[ValueT, str]] = {}
        self.foreign: dict[KeyT, list[ValueT]] = {}
        self.missing: dict[KeyT, Entry] = {}
        _tables[what] = self

    def __setitem__(self, key: KeyT, value: ValueT) -> None:
        module = _importing()
        if key in self.foreign:
            if module is None or module == "__main__":
                super().__setitem__(key, value)  # a pass body's, which goes with it
                return
            self.foreign[key] = [value]
        else:
            super().__setitem__(key, value)
        self.removed.pop(key, None)
        if module is not None and module.partition(".")[0] == "parpass":
            self.added.pop(key, None)
        else:
            self.added[key] = module
        _take_down_change()

    def __delitem__(self, key: KeyT) -> None:
        super().__delitem__(key)
        if key not in self.foreign:
            self.added.pop(key, None)
            self.removed[key] = None
        _take_down_change()

    def is_taken(self, key: KeyT) -> bool:
        """Return whether this process has an entry of its own there."""
        return key in self and key not in self.foreign

    def find(self, key: KeyT) -> ValueT | None:
        """Return an entry, None if there is none; it may have to be imported first."""
        if key in self.missing:
            self.ask(key)
        return self.get(key)

    def ask(self, *keys: KeyT) -> None:
        """Import entries that others have; take down those that do not come."""
        for key in keys:
            entry = self.missing.get(key)
            if entry is None:
                continue
            why = entry.why_stuck or _why_not_imported(entry, self)
            if why is None:
                self.missing.pop(key, None)
            else:
                _missed.append((f"the {entry}", why))

    def state_of(self, key: KeyT) -> Any:
        """Return what travels for an entry."""
        return self[key]

    def outline(self, key: KeyT) -> None:
        """Make an entry that others can refer to, before its state is known."""

    def restore(self, key: KeyT, state: Any) -> None:
        """Make the entry that `state_of` told of."""
        super().__setitem__(key, state)

    def replace(self, key: KeyT) -> None:
        """Keep what is there, since a foreign entry comes in its place."""
        self.foreign.setdefault(key, [self[key]] if key in self else [])

    def hide(self, key: KeyT) -> None:
        """Take out an entry for as long as foreign ones are in force."""
        super().pop(key, None)

    def withdraw(self) -> None:
        """Take out foreign entries, and put back what they replaced."""
        for key, replaced in self.foreign.items():
            if replaced:
                super().__setitem__(key, replaced[0])
            else:
                self.hide(key)
        self.foreign.clear()
        self.missing.clear()


class Entry(NamedTuple):
    """What a program did to a table, but for the entry itself.

    Attributes:
        home: The module in which the table is.
        table: The table's word.
        key: The key.
        module: The module whose import makes the entry; else None.
        why_stuck: Why it cannot travel, if it cannot.
        is_removed: Whether it was taken out.
    """

    home: str
    table: str
    key: Any
    module: str | None = None
    why_stuck: str | None = None
    is_removed: bool = False

    def __str__(self) -> str:
        return f"{self.table} {self.key!r}"

    @property
    def has_state(self) -> bool:
        """Whether a state travels with it."""
        return self.module is None and self.why_stuck is None and not self.is_removed


def program_entries() -> tuple[Entry, ...]:
    """Return what the program did to the tables of this process, in order.

    It is the same tuple while it does nothing more.
    """
    global _entries
    change, entries = _last_change, _entries
    if entries[0] is not change:
        entries = _entries = change, tuple(_program_entries())
    return entries[1]


def _program_entries() -> list[Entry]:
    found: list[Entry] = []
    for what, table in tuple(_tables.items()):
        home, removed = str(table.home), tuple(table.removed)
        found += [Entry(home, what, key, is_removed=True) for key in removed]
        for key, module in tuple(table.added.items()):
            module = importable(module)
            value, why = table.stuck.get(key, (None, None))
            if module is not None or value is not table.get(key):
                why = None
            found.append(Entry(home, what, key, module, why))
    return found


def state_of(entry: Entry) -> Any:
    """Return what travels for an entry of this process."""
    return _tables[entry.table].state_of(entry.key)


def keep_back(entry: Entry, why: str) -> None:
    """Have an entry of this process, as it is now, travel no more."""
    table = _tables[entry.table]
    if entry.key in table:
        table.stuck[entry.key] = table[entry.key], why
    _take_down_change()


def outline_all(entries: Sequence[Entry]) -> None:
    """Make room for the entries of another process, in the place of those before."""
    global _outlined
    if entries is _outlined:
        return
    withdraw_foreign()
    for entry in entries:
        importlib.import_module(entry.home)
        table, key = _tables[entry.table], entry.key
        if entry.module is not None:
            if key in table and table.added.get(key) != entry.module:
                importlib.import_module(entry.module)  # which replaces the library's
            if key not in table:
                table.missing[key] = entry
            continue
        table.replace(key)
        if entry.has_state:
            table.outline(key)
            continue
        table.hide(key)
        if entry.why_stuck is not None:
            table.missing[key] = entry
    _outlined = entries


def restore(entry: Entry, state: Any) -> None:
    """Put an entry of another process in force, until `withdraw_foreign`."""
    _tables[entry.table].restore(entry.key, state)


def withdraw_foreign() -> None:
    """Take the entries of other processes out of all tables."""
    global _outlined
    _outlined = None
    _missed.clear()
    for table in _tables.values():
        if table.foreign or table.missing:
            table.withdraw()


def take_missed() -> tuple[str, str] | None:
    """Return what was asked for and is missing here, and why; forget that it was."""
    found = _missed[0] if _missed else None
    _missed.clear()
    return found


def _why_not_imported(entry: Entry, table: Table[Any, Any]) -> str | None:
    assert entry.module is not None
    try:
        importlib.import_module(entry.module)
    except Exception as error:  # noqa: BLE001 -- whatever it does
        return f"{type(error).__name__}: {error}"
    if entry.key in table:
        return None
    return f"the import of '{entry.module}' has registered it elsewhere, and not here"


def _take_down_change() -> None:
    global _last_change
    _last_change = object()


def _importing() -> str | None:
    """Return the name of the innermost module that is being run, if there is one."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            return str(frame.f_globals.get("__name__"))
        frame = frame.f_back
    return None


def importable(module: str | None) -> str | None:
    """Return a module's name if other processes import that one by it, else None."""
    if module is None or module == "__main__":
        return None
    from cloudpickle import list_registry_pickle_by_value

    spec = getattr(sys.modules.get(module), "__spec__", None)
    if spec is None or module in list_registry_pickle_by_value():
        return None
    known = _found.get(module)
    if known is None or known[0] is not spec:
        known = _found[module] = spec, _is_found(module, spec)
    return module if known[1] else None


_found: dict[str, tuple[Any, bool]] = {}  # of modules whether their specs are found


def _is_found(module: str, spec: ModuleSpec) -> bool:
    """Return whether an import that has nothing yet would load a module from there.

    A finder that answers with the module's own spec has looked among what is imported.
    """
    package = sys.modules.get(module.rpartition(".")[0])
    places = getattr(package, "__path__", None)
    for finder in sys.meta_path:
        found = finder.find_spec(module, places)
        if found is not None and found is not spec:
            return found.origin == spec.origin
    return False
