"""Tables of patterns by compiler, for MergeComposite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from parpass.replicated_tables import ReplicatedTable

PatternTable = list[tuple[Any, ...]]
MakerT = TypeVar("MakerT", bound=Callable[[], PatternTable])

_tables: ReplicatedTable[str, PatternTable] = ReplicatedTable("pattern table")


def register_pattern_table(compiler: str, table: Any = None) -> Any:
    """Register the pattern table of a compiler, replacing an earlier one.

    Args:
        compiler: Its name.
        table: A function that returns rows for MergeComposite; it is called at once.
            Without one this is a decorator.

    Returns:
        The function.
    """

    def register(make: MakerT) -> MakerT:
        _tables[compiler] = make()
        return make

    return register if table is None else register(table)


def get_pattern_table(compiler: str) -> PatternTable | None:
    """Return the patterns of a compiler, None if none were registered."""
    return _tables.get(compiler)
