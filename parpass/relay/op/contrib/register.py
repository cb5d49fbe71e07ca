"""Tables of patterns by compiler, for MergeComposite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from parpass.tables import Table

PatternTable = list[tuple[Any, ...]]
MakerT = TypeVar("MakerT", bound=Callable[[], PatternTable])

_tables: Table[str, PatternTable] = Table("pattern table")


def register_pattern_table(compiler: str, table: Any = None) -> Any:
    """Register what makes the patterns of a compiler, whose name it may have already.

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
