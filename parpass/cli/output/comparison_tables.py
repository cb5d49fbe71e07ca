"""The output of `parpass compare`: tables on standard output, or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click
import msgspec
from rich.table import Column

from parpass.cli.output.tables import name_column, print_table
from parpass.runner.report.comparison import (
    MIN_RUNS,
    Comparison,
    CountChange,
    TimeChange,
    Verdict,
)
from parpass.runner.report.figures import time_text


def print_comparison(found: Comparison, most: int) -> None:
    """Print a comparison as tables, each with so many rows at the most."""
    for note in found.notes:
        click.echo(f"Note: {note}")
    for what, changes in (("pass", found.passes), ("function", found.functions)):
        rows = [found.run, *changes] if what == "pass" else changes
        if not rows:
            continue
        _print_times(f"Time by {what}", what, rows[:most])
        _print_left_out(len(rows) - most, "smaller changes")
    if found.counters:
        _print_counters(found.counters[:most])
        _print_left_out(len(found.counters) - most, "changes")
    else:
        click.echo("What passes counted is the same.")
    if not found.is_noise_known:
        click.echo(
            f"The noise is not known: it takes {MIN_RUNS} runs on both sides, of which "
            f"there are {found.runs_before} and {found.runs_after}; parpass opt "
            "--profile OUT --repeat 9 makes more."
        )


def _print_left_out(count: int, what: str) -> None:
    if count > 0:
        click.echo(f"And {count:,} more {what}; --limit shows them, --json has all.")


def _print_times(title: str, what: str, changes: Sequence[TimeChange]) -> None:
    verdict = Column("which is", min_width=max(map(len, Verdict)))
    headings = [name_column(what), "before", "after", "change", "noise", "", verdict]
    print_table(title, headings, [list(_cells(one)) for one in changes], stderr=False)


def _cells(change: TimeChange) -> Iterator[str]:
    yield change.name
    for seconds in (change.before, change.after):
        yield "" if seconds is None else _time_text(seconds)
    sign = "-" if change.seconds < 0 else "+"
    yield f"{sign}{_time_text(abs(change.seconds))}"
    yield "" if change.noise is None else _time_text(change.noise)
    is_one_sided = change.before is None or change.after is None
    percent = None if is_one_sided else change.percent
    yield "" if percent is None else f"{percent:+.1f}%"
    yield str(change.verdict)


def _time_text(seconds: float) -> str:
    return time_text(seconds) if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def _print_counters(changes: Sequence[CountChange]) -> None:
    headings = [name_column("pass"), Column("function"), Column("counter")]
    rows = [
        [
            one.pass_name,
            "(all)" if one.function is None else one.function,
            one.counter,
            f"{one.before:,}",
            f"{one.after:,}",
            f"{one.after - one.before:+,}",
        ]
        for one in changes
    ]
    print_table(
        "What passes counted",
        [*headings, "before", "after", "change"],
        rows,
        stderr=False,
    )


def print_comparison_json(found: Comparison) -> None:
    """Print a comparison as JSON."""
    text = msgspec.json.encode(_as_json(found))
    click.echo(msgspec.json.format(text, indent=2).decode())


def _as_json(found: Comparison) -> dict[str, Any]:
    plain = msgspec.to_builtins(found)
    pairs = [(plain["run"], found.run)]
    pairs += zip(plain["passes"], found.passes, strict=True)
    pairs += zip(plain["functions"], found.functions, strict=True)
    for made, change in pairs:
        made["seconds"], made["percent"] = change.seconds, change.percent
    return plain
