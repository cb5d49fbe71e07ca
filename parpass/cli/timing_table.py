"""The table of `parpass opt --timing`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from parpass.instrument import PassProfile


def print_timing_table(profiles: Sequence[PassProfile]) -> None:
    """Print how long passes took to standard error, nested passes indented."""
    whole = sum(profile.seconds for profile in profiles)
    table = Table(title="Time of passes")
    table.add_column("pass", no_wrap=True)
    for heading in ("total", "self", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    for depth, profile in _flat(profiles):
        share = profile.seconds / whole if whole else 0
        table.add_row(
            "  " * depth + profile.name,
            f"{profile.seconds * 1e3:.1f} ms",
            f"{profile.self_seconds * 1e3:.1f} ms",
            f"{share:.1%}",
        )
    Console(stderr=True).print(table)


def _flat(
    profiles: Sequence[PassProfile], depth: int = 0
) -> Iterator[tuple[int, PassProfile]]:
    for profile in profiles:
        yield depth, profile
        yield from _flat(profile.children, depth + 1)
