"""The account of `parpass opt --explain-speed`."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from parpass.runner import RunReport
from parpass.runner.report.figures import time_text


def print_speed_report(report: RunReport) -> None:
    """Print where the time of a run went to standard error, and what would help."""
    table = Table(title="Where the time went")
    table.add_column("part")
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("of which")
    for what, seconds, remark in report.lines():
        share = seconds / report.seconds
        table.add_row(what, time_text(seconds), f"{share:.1%}", remark)
    console = Console(stderr=True, highlight=False)
    console.print(table)
    best, *others = report.advice
    for text in (report.headline, report.counts, f"What would help most: {best}"):
        console.print(text, markup=False)
    for text in others:
        console.print(f"Also: {text}", markup=False)
