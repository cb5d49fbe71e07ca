"""The output of `parpass compare`: tables on standard output, or JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click
import msgspec
from rich.table import Column

from parpass.cli.output.numbers import print_json
from parpass.cli.output.tables import name_column, print_table
from parpass.report.comparison import (
    MIN_RUNS,
    Change,
    ChangeKind,
    Comparison,
    CountChange,
    amounts,
    seconds_text,
)
from parpass.report.figures import size_text

_Text = Callable[[float], str]  # of an amount


def print_comparison(found: Comparison, most: int) -> None:
    """Print a comparison as tables, each of at most `most` rows."""
    for note in found.notes:
        click.echo(f"Note: {note}")
    for title, what, changes, text in (
        ("Time by pass", "pass", [found.run, *found.passes], seconds_text),
        ("Time by function", "function", found.functions, seconds_text),
        ("Memory by pass", "pass", found.memory, size_text),
    ):
        if changes:
            _print_changes(title, what, changes, most, text)
    if found.counters:
        _print_counters(found.counters[:most])
        _print_left_out(len(found.counters) - most, "changes")
    else:
        click.echo("The statistics of passes are the same.")
    if not found.is_noise_known:
        click.echo(
            f"The noise is unknown: it takes {MIN_RUNS} runs on each side, and there "
            f"are {found.runs_before} and {found.runs_after}. Use 'parpass opt "
            "--profile OUT --repeat 9'."
        )


def _print_left_out(count: int, what: str) -> None:
    if count > 0:
        click.echo(f"And {count:,} more {what}; --limit shows them, --json has all.")


def _print_changes(
    title: str, what: str, changes: Sequence[Change], most: int, text: _Text
) -> None:
    verdict = Column("which is", min_width=max(map(len, ChangeKind)))
    headings = [name_column(what), "before", "after", "change", "noise", "", verdict]
    rows = [amounts(one, text) for one in changes[:most]]
    print_table(title, headings, rows, stderr=False)
    _print_left_out(len(changes) - most, "smaller changes")


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
        "Statistics of passes",
        [*headings, "before", "after", "change"],
        rows,
        stderr=False,
    )


def print_comparison_json(found: Comparison) -> None:
    print_json(_as_json(found), stderr=False)


def _as_json(found: Comparison) -> dict[str, Any]:
    plain = msgspec.to_builtins(found)
    _complete([plain["run"]], [found.run], "seconds")
    _complete(plain["passes"], found.passes, "seconds")
    _complete(plain["functions"], found.functions, "seconds")
    _complete(plain["memory"], found.memory, "bytes")
    return plain


def _complete(plain: list[dict[str, Any]], changes: list[Change], unit: str) -> None:
    for made, change in zip(plain, changes, strict=True):
        made[unit], made["percent"] = change.difference, change.percent
