"""The output of `--timing`, `--peak-memory` and `--statistics`: text, JSON or CSV.

It goes to standard error.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec

from parpass.cli.output.tables import (
    flat_profiles,
    print_memory_table,
    print_timing_table,
)
from parpass.instrument import PassProfile, PassStatisticsInstrument
from parpass.transform.capture.pass_memory import PassMemory


def format_of(given: Sequence[str]) -> str:
    """Return the last format that is not empty; by default text."""
    return next((one for one in reversed(given) if one), "text")


def print_timing(profiles: Sequence[PassProfile], form: str) -> None:
    """Print the seconds of passes; `profiles` are the outermost ones."""
    if form == "json":
        print_json([_timing_as_json(profile) for profile in profiles])
    elif form == "csv":
        rows = (
            (one.name, depth, one.seconds, one.self_seconds)
            for depth, one in flat_profiles(profiles)
        )
        _print_csv(("pass", "depth", "seconds", "self_seconds"), rows)
    else:
        print_timing_table(profiles)


def _timing_as_json(profile: PassProfile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "seconds": profile.seconds,
        "self_seconds": profile.self_seconds,
        "passes": [_timing_as_json(child) for child in profile.children],
    }


def print_memory(memory: PassMemory, form: str) -> None:
    """Print the peak memory of passes; JSON and CSV have each function, too."""
    # Workers end in any order, so functions are sorted.
    functions = {name: sorted(of.items()) for name, of in memory.functions.items()}
    if form == "json":
        found = [
            {"name": name, "bytes": size, "functions": dict(functions.get(name, ()))}
            for name, size in memory.passes.items()
        ]
        print_json(found)
    elif form == "csv":
        rows = [(name, "", size) for name, size in memory.passes.items()]
        rows += [(name, *one) for name, sizes in functions.items() for one in sizes]
        _print_csv(("pass", "function", "bytes"), rows)
    else:
        print_memory_table(memory)


def print_statistics(statistics: PassStatisticsInstrument, form: str) -> None:
    """Print the counters of passes; JSON and CSV have each function, too."""
    if form == "json":
        print_json(_statistics_as_json(statistics))
    elif form == "csv":
        rows = [
            (name, "", counter, total)
            for name, counters in statistics.totals.items()
            for counter, total in counters.items()
        ]
        rows += [
            (name, function, counter, total)
            for (name, function), counters in statistics.function_totals.items()
            for counter, total in counters.items()
        ]
        _print_csv(("pass", "function", "counter", "total"), rows)
    else:
        click.echo(statistics.render(), nl=False, err=True)


def _statistics_as_json(statistics: PassStatisticsInstrument) -> list[dict[str, Any]]:
    functions: dict[str, dict[str, Any]] = {}
    for (name, function), counters in statistics.function_totals.items():
        functions.setdefault(name, {})[function] = counters
    return [
        {"name": name, "counters": counters, "functions": functions.get(name, {})}
        for name, counters in statistics.totals.items()
    ]


def print_json(value: Any, *, stderr: bool = True) -> None:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    click.echo(text.decode(), err=stderr)


def _print_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    click.echo(file.getvalue(), nl=False, err=True)
