"""What `parpass opt --timing` shows: a table, or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click
import msgspec

from parpass.cli.showing.narrow import names, print_table
from parpass.instrument import PassProfile


def print_timing_table(profiles: Sequence[PassProfile]) -> None:
    """Print how long passes took to standard error, nested passes indented."""
    whole = sum(profile.seconds for profile in profiles)
    rows = [
        (
            "  " * depth + profile.name,
            f"{profile.seconds * 1e3:.1f} ms",
            f"{profile.self_seconds * 1e3:.1f} ms",
            f"{profile.seconds / whole if whole else 0:.1%}",
        )
        for depth, profile in _flat(profiles)
    ]
    print_table("Time of passes", [names("pass"), "total", "self", "share"], rows)


def print_timing_json(profiles: Sequence[PassProfile]) -> None:
    """Print the same as a list of objects, nested passes in the `passes` of others."""
    text = msgspec.json.encode([_as_json(profile) for profile in profiles])
    click.echo(msgspec.json.format(text, indent=2).decode(), err=True)


def _as_json(profile: PassProfile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "seconds": profile.seconds,
        "self_seconds": profile.self_seconds,
        "passes": [_as_json(child) for child in profile.children],
    }


def _flat(
    profiles: Sequence[PassProfile], depth: int = 0
) -> Iterator[tuple[int, PassProfile]]:
    for profile in profiles:
        yield depth, profile
        yield from _flat(profile.children, depth + 1)
