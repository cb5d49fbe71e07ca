"""Measure parpass against its goals: one table, and JSON.

Each row says what it compares, beside its goal; a goal that is missed is shown in red.
Figures are ratios or differences of times taken turn by turn in this run, medians of
the runs; ± is half the distance between the quartiles. Work is made from a seed.

With `--report` the page on speed and the README's table are made from the figures of
this run; `python -m bench.report` makes them anew from those that it kept. With
`--rows` besides, these rows are put in the place of the kept ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

import click
from rich.console import Console

from bench.measure import Setting, default_workers
from bench.report import FIGURES, write_pages
from bench.rows import ROWS, measured
from bench.table import Line, Machine, Report, as_table

_WIDTH = 150  # of the table where there is no terminal


def _chosen(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> list[str]:
    names = list(ROWS) if value is None else value.split(",")
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        raise click.BadParameter(
            f"expected some of {', '.join(ROWS)}; got {', '.join(unknown)}"
        )
    return names


def _kept_rows(setting: Setting) -> Mapping[str, Sequence[Line]]:
    """Return the figures of earlier runs, which others are to be put beside.

    Raises:
        click.UsageError: They were measured in another way, or on another machine.
    """
    kept = Report.from_json(FIGURES.read_text(encoding="utf-8"))
    here = Report(setting, Machine.here(), {})
    if (kept.setting, kept.machine) != (here.setting, here.machine):
        raise click.UsageError(
            f"rows are put beside those of {FIGURES.name}, which have {kept.title}; "
            f"got {here.title}. Measure likewise, or all rows"
        )
    return kept.rows


@click.command(help=__doc__)
@click.option("--rows", callback=_chosen, help="Names, with commas; all by default.")
@click.option(
    "--repeat", type=click.IntRange(1), default=5, show_default=True, help="Runs."
)
@click.option(
    "--scale",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Share of the work that the goals are stated for.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Processes; by default one for each core, at most four.",
)
@click.option("--json", "json_file", type=click.File("w"), help="Write all times here.")
@click.option(
    "--report",
    "writes_pages",
    is_flag=True,
    help=f"Keep the figures in {FIGURES.name}, and write the pages from them.",
)
def command(
    rows: list[str],
    repeat: int,
    scale: float,
    workers: int | None,
    json_file: TextIO | None,
    writes_pages: bool,
) -> None:
    """Measure and print."""
    setting = Setting(workers or default_workers(), repeat, scale)
    kept: Mapping[str, Sequence[Line]] = {}
    if writes_pages and rows != list(ROWS):
        kept = _kept_rows(setting)
    found: dict[str, Sequence[Line]] = {}
    progress = Console(stderr=True)
    with progress.status("") as status:
        for at, name in enumerate(rows, 1):
            status.update(f"{name} ({at} of {len(rows)})")
            found[name] = measured(name, setting)
    report = Report(setting, Machine.here(), found)
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    console.print(as_table(report))
    if json_file is not None:
        json_file.write(report.as_json())
    if writes_pages:
        whole = {**kept, **found}
        rows_in_order = {name: whole[name] for name in ROWS if name in whole}
        text = Report(setting, report.machine, rows_in_order).as_json()
        FIGURES.write_text(text, encoding="utf-8")
        write_pages(Report.from_json(text))  # as it is read again, to the last digit
    wrong = [
        f"{name}: {line.what}: {line.note}"
        for name, lines in found.items()
        for line in lines
        if line.is_error
    ]
    if wrong:
        raise click.ClickException("\n".join(wrong))


if __name__ == "__main__":
    command()
