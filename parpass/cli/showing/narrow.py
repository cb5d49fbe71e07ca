"""Tables on standard error, whose numbers are whole however narrow the terminal is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Column, Table

_LEAST = 8  # characters that names and remarks keep


def print_table(
    title: str, headings: Sequence[str | Column], rows: Iterable[Sequence[str]]
) -> None:
    """Print a table: names in the first column, then numbers, then remarks.

    Where the terminal is too narrow the names are cut and remarks wrapped; numbers
    are kept, if need be beyond its edge.

    Args:
        title: What stands above it.
        headings: Of the columns; a string is the heading of numbers.
        rows: The cells.
    """
    cells = [list(row) for row in rows]
    columns = [
        one if isinstance(one, Column) else Column(one, justify="right", no_wrap=True)
        for one in headings
    ]
    for at, column in enumerate(columns):
        if column.justify == "right":
            longest = max((len(row[at]) for row in cells), default=0)
            column.min_width = max(longest, len(str(column.header)))
    console = Console(stderr=True, highlight=False)
    rest = sum((column.min_width or _LEAST) + 3 for column in columns[1:]) + 4
    console.width = max(console.width, rest + _LEAST)
    columns[0].max_width = console.width - rest
    table = Table(*columns, title=title)
    for row in cells:
        table.add_row(*row)
    console.print(table)


def names(heading: str) -> Column:
    """Return a column of names, which are cut where there is no room."""
    return Column(heading, no_wrap=True, overflow="ellipsis")
