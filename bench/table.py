"""What rows are made of, as a table and as JSON: figures beside their goals."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Self

import msgspec
from rich.markup import escape
from rich.table import Table

from bench.measure import Figure, Setting
from parpass.runner.cores import usable_cores

_BY_UNIT = {
    "x": 2,
    "s": 3,
    "ms": 1,
    "us": 2,
    "%": 1,
    "MB": 0,
    "bytes": 0,
    "functions/s": 0,
}


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

    def share(self, value: float) -> float:
        """Return a value as a multiple of the bound; above 1 it misses."""
        if self.at_most is not None:
            return value / self.at_most
        assert self.at_least is not None
        return self.at_least / value if value > 0 else math.inf


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
        curves: What a plot shows: the values of its abscissa, and those of each curve,
            by name, the abscissa first.
        is_error: Whether measuring went wrong, rather than badly.
    """

    what: str
    compares: str
    figure: Figure | None
    goal: Goal | None = None
    note: str = ""
    times: Mapping[str, Sequence[float]] = field(default_factory=dict[str, list[float]])
    curves: Mapping[str, Sequence[float]] = field(
        default_factory=dict[str, list[float]]
    )
    is_error: bool = False

    @property
    def verdict(self) -> str:
        """One of `met`, `missed`, `error` and, without goal or figure, nothing."""
        if self.is_error:
            return "error"
        if self.goal is None or self.figure is None:
            return ""
        return "met" if self.goal.is_met_by(self.figure) else "missed"

    @property
    def share(self) -> float:
        """The figure as a multiple of its goal, which it has; above 1 it misses."""
        assert self.goal is not None
        assert self.figure is not None
        return self.goal.share(self.figure.value)


@dataclass(frozen=True)
class Row:
    """One row of the table, which may have several lines.

    Attributes:
        name: What it is called on the command line.
        measure: Measures it; called in a process of its own, so it is a function of a
            module.
        needs: The package without which there is nothing to measure; empty: none.
    """

    name: str
    measure: Callable[[Setting], Iterable[Line]]
    needs: str = ""


@dataclass(frozen=True)
class Machine:
    """What was measured on."""

    python: str
    system: str
    cores: int

    @classmethod
    def here(cls) -> Self:
        """Return this machine."""
        return cls(
            f"{platform.python_implementation()} {platform.python_version()}",
            f"{platform.system()} {platform.machine()}",
            usable_cores(),
        )


@dataclass(frozen=True)
class Report:
    """All that one run of the command has measured."""

    setting: Setting
    machine: Machine
    rows: Mapping[str, Sequence[Line]]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what `as_json` has written.

        Raises:
            msgspec.ValidationError: It is something else.
        """
        return msgspec.json.decode(text, type=cls)

    def as_json(self) -> str:
        """Return all figures and times, a line of text for each of a row's lines."""
        rows = ",\n".join(
            f" {json.dumps(name)}: [\n{_json_lines(lines)}\n ]"
            for name, lines in self.rows.items()
        )
        head = f'"setting": {json.dumps(asdict(self.setting))},\n'
        head += f'"machine": {json.dumps(asdict(self.machine))},\n'
        return f'{{{head}"rows": {{\n{rows}\n}}}}\n'

    @property
    def title(self) -> str:
        """How it was measured, in a line."""
        setting, machine = self.setting, self.machine
        scale = "" if setting.scale == 1 else f", {setting.scale:g} of the work"
        return (
            f"{setting.workers} workers on {machine.cores} cores, medians of "
            f"{setting.repeat} runs ({setting.fewer} of long ones){scale}; "
            f"{machine.python}"
        )

    def goals(self) -> Iterator[tuple[str, Line]]:
        """Yield the lines that have a goal, or an error, each with its row."""
        for name, lines in self.rows.items():
            for line in lines:
                if line.goal is not None or line.is_error:
                    yield name, line


def _json_lines(lines: Iterable[Line]) -> str:
    made: list[str] = []
    for line in lines:
        times = {name: [_brief(one) for one in line.times[name]] for name in line.times}
        data = {**asdict(line), "times": times, "verdict": line.verdict}
        made.append(f"  {json.dumps(data, ensure_ascii=False)}")
    return ",\n".join(made)


def _brief(seconds: float) -> float:
    return float(f"{seconds:.4g}")


def as_table(report: Report) -> Table:
    """Return the table: one section for each row, what misses its goal in red."""
    table = Table(title=report.title, title_justify="left")
    table.add_column("row", style="bold", no_wrap=True)
    table.add_column("work", ratio=5)
    table.add_column("figure: what it compares", ratio=5)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("goal", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name, lines in report.rows.items():
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


_ON_PAGES = {
    "met": "met",
    "missed": "**missed**",
    "error": "**error**",
    "": "not measured",
}


def as_markdown(lines: Iterable[tuple[str, Line]]) -> str:
    """Return lines with their rows as a table for a page; misses in bold."""
    table = [
        "| row | work | figure | measured | goal | |",
        "|---|---|---|--:|--:|---|",
    ]
    for name, line in lines:
        shown = line.note if line.figure is None else as_text(line.figure)
        verdict = _ON_PAGES[line.verdict]
        goal = "" if line.goal is None else str(line.goal)
        cells = (name, line.what, line.compares, shown, goal, verdict)
        table.append(f"| {' | '.join(cells)} |")
    return "\n".join(table) + "\n"
