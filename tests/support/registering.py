"""What tests register, which is to be gone when they end."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Generator
from typing import Any

from parpass.tables import program_entries


@contextlib.contextmanager
def registering_for_a_while() -> Generator[None]:
    """Take out again what is registered in the block, in any table."""
    before = {str(entry) for entry in program_entries()}
    yield
    for entry in program_entries():
        if str(entry) not in before and not entry.is_removed:
            home = vars(importlib.import_module(entry.home))
            (table,) = [one for one in home.values() if _is_table(one, entry.table)]
            del table[entry.key]
            del table.removed[entry.key]


def _is_table(value: Any, what: str) -> bool:
    return getattr(value, "what", None) == what
