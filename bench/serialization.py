"""How long JSON, structural equality and hash take, by the size of the program.

    python bench/serialization.py [--largest N]

All are linear if the time for each node stays the same from row to row. The programs
are those of `bench/text.py`.
"""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table
from text import COND, KINDS, X, microseconds

from parpass import load_json, relay, save_json, structural_equal, structural_hash


def _row(function: relay.Function, size: int) -> list[str]:
    text = save_json(function)
    again = load_json(text)
    assert structural_equal(function, again)
    times = [
        microseconds(lambda: save_json(function), size),
        microseconds(lambda: load_json(text), size),
        microseconds(lambda: structural_equal(function, again), size),
        microseconds(lambda: structural_hash(function), size),
    ]
    return [f"{len(text) / 1e3:,.0f} kB", *(f"{time:.1f}" for time in times)]


@click.command(help=__doc__)
@click.option("--largest", default=100_000, show_default=True, help="Nodes at most.")
def main(largest: int) -> None:
    """Measure and print."""
    table = Table(title="Microseconds for each node")
    table.add_column("program")
    for heading in ("nodes", "JSON", "save", "load", "equal", "hash"):
        table.add_column(heading, justify="right")
    for kind in KINDS:
        size = 1000
        while size <= largest:
            function = relay.Function((X, COND), kind(size))
            table.add_row(kind.__name__, f"{size:,}", *_row(function, size))
            size *= 10
    Console().print(table)


if __name__ == "__main__":
    main()
