"""Which functions InferType has been through, so that it need not go again.

A function and its nodes never change, so this very object is typed as long as the
global functions and the types that it refers to are what they were. What is known
travels with the function between processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple
from weakref import WeakKeyDictionary

from parpass.ir.node import Node
from parpass.ir.types.ty import FuncType


class LedgerEntry(NamedTuple):
    """What InferType knows of a function that it gave.

    Attributes:
        used_globals: The types of the global functions that it refers to.
        nodes: How many nodes it has.
        used_types: Digests of the definitions of types that it refers to.
    """

    used_globals: Mapping[str, FuncType]
    nodes: int
    used_types: Mapping[str, bytes] = MappingProxyType({})


_entries: WeakKeyDictionary[Node, LedgerEntry] = WeakKeyDictionary()


def enter_in_ledger(function: Node, entry: LedgerEntry) -> None:
    """Take down what InferType knows of a function that it gave."""
    _entries[function] = entry


def ledger_entry(function: Node) -> LedgerEntry | None:
    """Return what InferType knows of a function, None if it did not give it."""
    return _entries.get(function)
