"""What rows are made of, as a table and as JSON: figures beside their goals."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.markup import escape
from rich.table import Table

from bench.measure import Figure, Setting

_BY_UNIT = {"x": 2, "s": 3, "ms": 1, "us": 2, "%": 1, "MB": 0, "bytes": 0}


@dataclass(frozen=True)
class Goal:
    """A bound on a figure, in the figure's unit."""

    at_most: float | None = None
    at_least: float | None = None

    def is_met_by(self, figure: Figure) -> bool:
        """Return whether a figure keeps to the bound; noise is no excuse."""
        return (self.at_most is None or figure.value <= self.at_most) and (
            self.at_least is None or figure.value >= self.at_least
        )

    def __str__(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return f"≥ {self.at_least:g}"


@dataclass(frozen=True)
class Line:
    """One line of the table.

    Attributes:
        what: The work, or the peer.
        compares: What the figure is: this over that.
        figure: What was measured; None where it could not be, then `note` says why.
        goal: The bound; None for a line that is there to explain others.
        note: What else is to be known.
        times: The seconds of each side, run by run.
        is_error: Whether measuring went wrong, rather than badly.
    """

    what: str
    compares: str
    figure: Figure | None
    goal: Goal | None = None
    note: str = ""
    times: Mapping[str, Sequence[float]] = field(default_factory=dict[str, list[float]])
    is_error: bool = False

    @property
    def verdict(self) -> str:
        """One of `met`, `missed`, `error` and, without goal or figure, nothing."""
        if self.is_error:
            return "error"
        if self.goal is None or self.figure is None:
            return ""
        return "met" if self.goal.is_met_by(self.figure) else "missed"


@dataclass(frozen=True)
class Row:
    """One row of the table, which may have several lines.

    Attributes:
        name: What it is called on the command line.
        measure: Measures it; called in a process of its own, so it is a function of a
            module.
    """

    name: str
    measure: Callable[[Setting], Iterable[Line]]


def as_table(rows: Mapping[str, Sequence[Line]], setting: Setting) -> Table:
    """Return the table: one section for each row, what misses its goal in red."""
    table = Table(title=_title(setting), title_justify="left")
    table.add_column("row", style="bold", no_wrap=True)
    table.add_column("work", ratio=5)
    table.add_column("figure: what it compares", ratio=5)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("goal", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name, lines in rows.items():
        for at, line in enumerate(lines):
            is_same = at > 0 and line.what == lines[at - 1].what
            note = f"\n[dim]{escape(line.note)}[/dim]" if line.note else ""
            table.add_row(
                "" if at else name,
                "" if is_same else escape(line.what),
                escape(line.compares) + note,
                as_text(line.figure),
                "" if line.goal is None else str(line.goal),
                _STYLED[line.verdict],
                end_section=at == len(lines) - 1,
            )
    return table


_STYLED = {
    "met": "[green]met[/]",
    "missed": "[bold red]MISSED[/]",
    "error": "[bold red]ERROR[/]",
    "": "",
}


def as_text(figure: Figure | None) -> str:
    """Return a figure with its noise and unit."""
    if figure is None:
        return "-"
    digits = _BY_UNIT.get(figure.unit, 2)
    noise = f" ±{figure.noise:,.{digits}f}" if figure.noise else ""
    return f"{figure.value:,.{digits}f}{noise} {figure.unit}"


def as_data(rows: Mapping[str, Sequence[Line]], setting: Setting) -> dict[str, Any]:
    """Return all that was measured, for JSON."""
    return {
        "setting": asdict(setting),
        "machine": {
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
        },
        "rows": {
            name: [{**asdict(line), "verdict": line.verdict} for line in lines]
            for name, lines in rows.items()
        },
    }


def as_markdown(rows: Mapping[str, Sequence[Line]], setting: Setting) -> str:
    """Return the lines that have a goal as a table for a page; misses in bold."""
    table = [
        f"{_title(setting)}.",
        "",
        "| row | work | figure | measured | goal | |",
        "|---|---|---|--:|--:|---|",
    ]
    for name, lines in rows.items():
        for line in lines:
            if line.goal is None:
                continue
            shown = line.note if line.figure is None else as_text(line.figure)
            verdict = "met" if line.verdict == "met" else f"**{line.verdict}**"
            cells = (name, line.what, line.compares, shown, str(line.goal), verdict)
            table.append(f"| {' | '.join(cells)} |")
    return "\n".join(table) + "\n"


def _title(setting: Setting) -> str:
    scale = "" if setting.scale == 1 else f", {setting.scale:g} of the work"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return (
        f"{setting.workers} workers on {os.cpu_count()} cores, medians of "
        f"{setting.repeat} runs ({setting.fewer} of long ones){scale}; {python}"
    )
