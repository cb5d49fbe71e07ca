"""The pages on speed and the README's table, made from the figures of one run.

    python -m bench.report [FIGURES]

What is generated stands between two marks in the page; the prose around it stays. The
plots beside the page are drawn by matplotlib, and carry the digest of the figures.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

import click

from bench.table import Line, Report, as_markdown, as_text

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "performance.json"
PAGE = ROOT / "docs" / "performance.md"
DSL = ROOT / "docs" / "with-dsl-compilers.md"
WHEN = ROOT / "docs" / "when-not-to-use-it.md"
README = ROOT / "README.md"
INDEX = ROOT / "docs" / "index.md"
REASONS = Path(__file__).with_name("reasons.toml")

# Pages that have the tables of rows as they are, after a mark with the rows' names.
FIGURES_ON = {
    "executors.md": ("engines",),
    "incremental.md": ("incremental",),
    "with-dask.md": ("dask",),
    "with-tvm.md": ("tvm_build",),
}
# What it is good at: rows, each with how their figures begin, what the README says of
# the work, and how it reads the figure. Of several such lines it is the worst one.
README_ROWS = {
    "heavy": (
        "parallel run :",
        "One slow pass over 400 functions, on two cores",
        "{:.2f}x the time of independent processes that send nothing back",
    ),
    "fixed": (
        "parpass, as it comes :",
        "A pass that does nothing, on 10,000 tiny functions",
        "{:.2f}x the time of joblib",
    ),
    "incremental": (
        "one body edited",
        "A second run, after an edit to one of 10,000 functions",
        "{:.1f}% of the time of the first run",
    ),
    "constants": (
        "growth of all processes",
        "Memory for 512 MiB of constants in two workers",
        "{:.2f} extra copies",
    ),
    "xdsl_objects": (
        "xDSL :",
        "Thirteen xDSL passes over 40 functions, on two cores",
        "{:.2f}x faster than xDSL alone",
    ),
}
# The row of which the front pages say what its longest serial run became.
_EIGHT_SECONDS = "heavy"

_WRAPPER = textwrap.TextWrapper(
    92, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
)
_BLOCK = r"(<!-- bench: {} -->\n).*?(<!-- end -->\n)"


class PageError(Exception):
    """A page has no place for what is generated."""


def digest(report: Report) -> str:
    """Return the SHA-256 of the figures, which plots carry."""
    return hashlib.sha256(report.as_json().encode()).hexdigest()


def reasons() -> dict[str, str]:
    """Return why goals are missed, by row."""
    return tomllib.loads(REASONS.read_text(encoding="utf-8"))


def missed_rows(report: Report) -> list[str]:
    """Return the rows that have a missed goal, in the order of the table."""
    bad = ("missed", "error")
    return list(dict.fromkeys(n for n, line in report.goals() if line.verdict in bad))


def unexplained(report: Report) -> list[str]:
    """Return the rows that miss a goal, and have no reason in the file of reasons."""
    known = reasons()
    return [name for name in missed_rows(report) if name not in known]


def pages(report: Report) -> dict[Path, str]:
    """Return the pages with their generated parts made anew.

    Raises:
        PageError: The marks of a part are missing.
    """
    blocks = {
        PAGE: {
            "goals": _goals(report),
            "reasons": _reasons(report),
            "scale": _scale(report.rows.get("scale", ())),
        },
        DSL: {name: _sides(report.rows.get(name, ())) for name in ("gt4py", "dace")},
        WHEN: {
            "alternatives": _alternatives(report.rows.get("alternatives", ())),
            "pays": _pays(report.rows.get("scale", ())),
        },
        README: {"goals": _cut(report), "front": _front(report, "docs/")},
        INDEX: {"front": _front(report, "")},
    }
    for page, rows in FIGURES_ON.items():
        lines = [line for name in rows for line in report.rows.get(name, ())]
        blocks[ROOT / "docs" / page] = {", ".join(rows): _figures(lines)}
    return {path: _filled(path, parts) for path, parts in blocks.items()}


def write_pages(report: Report) -> None:
    """Write the pages and the plots; print a warning for each unexplained miss.

    Raises:
        PageError: The marks of a part are missing.
        ModuleNotFoundError: There is no matplotlib; no page was changed.
    """
    # Not everyone who measures has matplotlib.
    from bench.plots import draw

    made = pages(report)
    draw(report, PAGE.parent, digest(report))
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    for name in unexplained(report):
        click.secho(
            f"warning: row '{name}' misses a goal, and {REASONS.name} has no reason",
            fg="yellow",
            err=True,
        )


def _filled(path: Path, parts: Mapping[str, str]) -> str:
    text = path.read_text(encoding="utf-8")
    for name, part in parts.items():
        pattern = re.compile(_BLOCK.format(name), re.DOTALL)
        if not pattern.search(text):
            raise PageError(f"expected the mark '<!-- bench: {name} -->' in {path}")
        made = f"\n{part}\n"
        text = pattern.sub(lambda found: found[1] + made + found[2], text)  # noqa: B023
    return text


def _goals(report: Report) -> str:
    return (
        f"{report.title}.\n\n"
        f"![Each figure as a multiple of its goal](performance-goals.svg)\n\n"
        f"{as_markdown(report.goals())}"
    )


def _reasons(report: Report) -> str:
    known = reasons()
    parts: list[str] = []
    for name in missed_rows(report):
        reason = known.get(name, "no reason is known yet.")
        parts.append(_WRAPPER.fill(f"* **{name}**: {' '.join(reason.split())}"))
    return "\n".join(parts or ["None."]) + "\n"


def _cut(report: Report) -> str:
    """Return the table of the README: of its rows the line that does worst."""
    worst: dict[str, Line] = {}
    for name, line in report.goals():
        begins, *_ = README_ROWS.get(name, (None,))
        if begins is None or line.figure is None or line.goal is None:
            continue
        if not line.compares.startswith(begins):
            continue
        if name not in worst or line.share > worst[name].share:
            worst[name] = line
    table = ["| work | result | reproduce it |", "|---|---|---|"]
    for name in [one for one in README_ROWS if one in worst]:
        _, work, result = README_ROWS[name]
        figure = worst[name].figure
        assert figure is not None
        command = f"`python -m bench --rows {name}`"
        table.append(f"| {work} | {result.format(figure.value)} | {command} |")
    return f"{report.title}.\n\n" + "\n".join(table) + "\n"


def _front(report: Report, folder: str) -> str:
    """Return what the longest serial run of a row became, and the chart beside it.

    Args:
        report: The figures.
        folder: Where the chart is, seen from the page.
    """
    lines = [
        line for line in report.rows.get(_EIGHT_SECONDS, ()) if "serial" in line.times
    ]
    parts: list[str] = []
    if lines:
        line = max(lines, key=lambda one: median(one.times["serial"]))
        serial, parallel, limit = (
            median(line.times[side]) for side in ("serial", "parallel", "limit")
        )
        told = (
            f"**{serial:.1f} s became {parallel:.1f} s on two cores**: {line.what}, by "
            "workers that were already running. The limit is "
            f"{limit:.1f} s, of processes that share the functions and send nothing "
            f"back. On four cores it is {serial / 4:.1f} s, which we have not measured."
        )
        parts.append(textwrap.fill(told, 104))
    chart = "Time by hand with joblib and with parpass, relative to a serial run"
    parts.append(f"![{chart}]({folder}performance-front.svg)")
    return "\n\n".join(parts)


def _alternatives(lines: Sequence[Line]) -> str:
    """Return the plot and the tables of row `alternatives`."""
    parts = ["![Speed-up by the cost of a pass](performance-alternatives.svg)"]
    for line in lines:
        if line.curves:
            parts.append(f"{line.what}, times as fast as one process:")
            parts.append("\n".join(_curves_table(line.curves, ".2f")))
    parts.append(_figures(lines))
    return "\n\n".join(parts)


def _pays(lines: Sequence[Line]) -> str:
    """Return what row `scale` found that a function must cost for workers to pay."""
    found: dict[str, list[str]] = {}
    workers: dict[str, None] = {}
    for line in lines:
        count, pays, _ = line.compares.partition(" workers pay from ")
        if pays:
            workers[count] = None
            value = 0.0 if line.figure is None else line.figure.value
            shown = f"{value:.0f} ms" if value >= 10 else f"{value:.2g} ms"
            found.setdefault(line.what, []).append(shown)
    table = [f"| workers | {' | '.join(workers)} |", f"|---|{'--:|' * len(workers)}"]
    table += [f"| {what} | {' | '.join(cells)} |" for what, cells in found.items()]
    return "\n".join(table) + "\n"


def _figures(lines: Iterable[Line]) -> str:
    """Return a table of the lines that have no curves."""
    table = ["| work | figure | | |", "|---|---|--:|---|"]
    table += [
        f"| {line.what} | {line.compares} | {as_text(line.figure)} | {line.note} |"
        for line in lines
        if not line.curves
    ]
    return "\n".join(table) + "\n"


def _sides(lines: Sequence[Line]) -> str:
    """Return a table of ratios, and one of what each side took: `SIDE: QUANTITY`."""
    sides: dict[str, dict[str, str]] = {}
    ratios: list[Line] = []
    for line in lines:
        side, of_one, quantity = line.compares.partition(": ")
        if of_one and not side.endswith(" "):
            sides.setdefault(side, {})[quantity] = as_text(line.figure)
        else:
            ratios.append(line)
    names = list(dict.fromkeys(name for of in sides.values() for name in of))
    table = [f"| | {' | '.join(names)} |", f"|---|{'--:|' * len(names)}"]
    table += [f"| {side} | {' | '.join(of.values())} |" for side, of in sides.items()]
    return _figures(ratios) + "\n" + "\n".join(table) + "\n"


def _scale(lines: Sequence[Line]) -> str:
    """Return the tables of row `scale`: what it found, and efficiency by workers."""
    parts = [_figures(lines).rstrip()]
    for line in lines:
        if line.curves:
            parts.append(f"{line.what}: {line.compares}.")
            parts.append("\n".join(_curves_table(line.curves, ".0%")))
    parts.append("![Share of the workers' time on functions](performance-scale.svg)")
    return "\n\n".join(parts) + "\n"


def _curves_table(curves: Mapping[str, Sequence[float]], shown: str) -> Iterator[str]:
    abscissa, *names = curves
    yield f"| {abscissa} | {' | '.join(f'{at:,g}' for at in curves[abscissa])} |"
    yield f"|---|{'--:|' * len(curves[abscissa])}"
    for name in names:
        yield f"| {name} | {' | '.join(f'{one:{shown}}' for one in curves[name])} |"


@click.command(help=__doc__)
@click.argument(
    "figures", type=click.Path(path_type=Path, exists=True), default=FIGURES
)
def command(figures: Path) -> None:
    """Write the pages from a file of figures."""
    text = figures.read_text(encoding="utf-8")
    if figures != FIGURES:
        FIGURES.write_text(text, encoding="utf-8")
    write_pages(Report.from_json(text))


if __name__ == "__main__":
    command()
