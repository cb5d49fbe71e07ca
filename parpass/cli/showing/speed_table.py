"""The account of `parpass opt --explain-speed`."""

from __future__ import annotations

from rich.console import Console
from rich.table import Column

from parpass.cli.showing.file_times import FileTimes
from parpass.cli.showing.narrow import names, print_table
from parpass.cli.showing.wording import spoken
from parpass.runner import RunReport
from parpass.runner.report.figures import time_text


def print_speed_report(report: RunReport) -> None:
    """Print where the time of a run went to standard error, and what would help."""
    rows = [
        (what, time_text(seconds), f"{seconds / report.seconds:.1%}", remark)
        for what, seconds, remark in report.lines()
    ]
    headings = [names("part"), "time", "share", Column("of which")]
    print_table("Where the time went", headings, rows)
    console = Console(stderr=True, highlight=False)
    best, *others = report.advice
    lines = [report.headline, report.counts, f"What would help most: {best}"]
    for text in (*lines, *(f"Also: {one}" for one in others)):
        console.print(spoken(text), markup=False)


def print_file_times(files: FileTimes, in_runs: float) -> None:
    """Print what reading and writing took to standard error.

    Args:
        files: What they took.
        in_runs: The seconds of all runs of passes.
    """
    kinds = {"reading": files.read, "writing": files.written}
    known = {name: seconds for name, seconds in kinds.items() if seconds is not None}
    whole = in_runs + sum(known.values())
    told = [
        f"{name} took {time_text(seconds)}, {seconds / whole:.1%} of the whole"
        for name, seconds in known.items()
    ]
    if told:
        text = f"Besides the passes: {'; '.join(told)}"
        Console(stderr=True, highlight=False).print(text, markup=False)
