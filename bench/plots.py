"""The plots of the pages on speed, drawn by matplotlib as SVG.

The same figures give the same file with the same matplotlib: no date is in it, and
what its parts are called does not change. Their background is the page's, so colours
are such as can be read on a light one and on a dark one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from bench.table import Line, Report

_INK, _GRID, _FIT = "#7d7d7d", "#80808040", "#9a9a9a"
_GREEN, _RED = "#2f9e56", "#d6494f"
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "parpass",
    "font.size": 9,
    "grid.color": _GRID,
    "legend.framealpha": 0.0,
    "legend.labelcolor": _INK,
    "savefig.transparent": True,
    **dict.fromkeys(
        (
            *("text.color", "axes.edgecolor", "axes.labelcolor"),
            *("axes.titlecolor", "xtick.color", "ytick.color"),
        ),
        _INK,
    ),
}
_COLOURS = {"met": _GREEN, "missed": _RED}
_PEERS: dict[str, dict[str, Any]] = {
    "parpass": {"color": _GREEN, "marker": "o", "linewidth": 2},
    "joblib": {"color": "#3b8fd6", "marker": "s", "linewidth": 1.2},
    "multiprocessing.Pool": {"color": "#c9861a", "marker": "^", "linewidth": 1.2},
    "Dask": {"color": "#b069c9", "marker": "v", "linewidth": 1.2},
    "independent processes": {"color": _FIT, "linestyle": ":", "linewidth": 1.5},
}
# The front pages' chart: work of the row `alternatives`, from light to heavy, and the
# sides that it compares, as the row and as the chart calls them.
_FRONT_WORK = (("1,000", "0.01 ms"), ("1,000", "1 ms"), ("100", "10 ms"))
_FRONT_SIDES = {
    "serial": ("serial", _FIT),
    "joblib": ("by hand with joblib", "#3b8fd6"),
    "parpass": ("parpass", _GREEN),
}
_LEAST, _MOST = 1 / 16, 16.0  # shares of a goal; what is beyond is drawn at the edge


def draw(report: Report, folder: Path, digest: str) -> None:
    """Draw the plots into a folder.

    Args:
        report: The figures.
        folder: Where the files are written.
        digest: What names the figures, to be kept in the files.

    Raises:
        ModuleNotFoundError: There is no matplotlib.
    """
    pyplot: Any = import_module("matplotlib.pyplot")
    metadata = {"Date": None, "Description": f"figures {digest}"}
    with import_module("matplotlib").rc_context(_STYLE):
        for name, figure in {
            "performance-front": _front(pyplot, _curves(report, "alternatives")),
            "performance-goals": _goals(pyplot, report),
            "performance-scale": _panels(
                pyplot, _curves(report, "scale"), _scale, height=2.6, sharey=True
            ),
            "performance-recalled": _recalled(pyplot, _curves(report, "incremental")),
            "performance-alternatives": _panels(
                pyplot,
                _curves(report, "alternatives"),
                _alternatives,
                height=2.8,
                sharex=True,
                sharey=True,
            ),
        }.items():
            path = folder / f"{name}.svg"
            figure.savefig(path, metadata=metadata, bbox_inches="tight")
            pyplot.close(figure)
            # matplotlib leaves blanks at the ends of lines
            lines = path.read_text(encoding="utf-8").splitlines()
            text = "\n".join(line.rstrip() for line in lines) + "\n"
            path.write_text(text, encoding="utf-8")


def _curves(report: Report, row: str) -> list[Line]:
    return [line for line in report.rows.get(row, ()) if line.curves]


def _front(pyplot: Any, lines: list[Line]) -> Any:
    """Return bars: the times of some work by each side, relative to serial."""
    by_count = {line.what.partition(" ")[0]: line.times for line in lines}
    groups: dict[str, list[float]] = {}
    for count, cost in _FRONT_WORK:
        times, none = by_count.get(count, {}), [math.nan]
        took = [median(times.get(f"{side}, {cost}", none)) for side in _FRONT_SIDES]
        groups[f"{count} functions\nof {cost}"] = [one / took[0] for one in took]
    figure, axes = pyplot.subplots(figsize=(5, 2.7))  # a phone shows it, too
    height = 0.8 / len(_FRONT_SIDES)
    for at, (name, colour) in enumerate(_FRONT_SIDES.values()):
        bars = axes.barh(
            [group + at * height for group in range(len(groups))],
            [relative[at] for relative in groups.values()],
            height * 0.9,
            color=colour,
            label=name,
        )
        axes.bar_label(bars, fmt="%.2f", padding=3)
    axes.set_yticks([group + height for group in range(len(groups))], [*groups])
    axes.invert_yaxis()
    axes.set_xlabel("time relative to serial, on two cores: shorter is better")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right")
    return figure


def _goals(pyplot: Any, report: Report) -> Any:
    """Return the plot of all figures as multiples of their goals, a line for a row."""
    points = [
        (name, line.share, line.verdict)
        for name, line in report.goals()
        if line.goal is not None and line.figure is not None
    ]
    names = list(dict.fromkeys(name for name, _, _ in points))
    figure, axes = pyplot.subplots(figsize=(7, 0.22 * len(names) + 1))
    axes.axvline(1, color=_INK, linewidth=1)
    for verdict, colour in _COLOURS.items():
        some = [point for point in points if point[2] == verdict]
        axes.scatter(
            [min(max(share, _LEAST), _MOST) for _, share, _ in some],
            [names.index(name) for name, _, _ in some],
            s=18,
            color=colour,
            alpha=0.7,
            label=verdict,
        )
    axes.set_xscale("log", base=2)
    axes.set_xlim(_LEAST / 1.2, _MOST * 1.2)
    exponents = range(round(math.log2(_LEAST)), round(math.log2(_MOST)) + 1)
    axes.set_xticks([2.0**at for at in exponents])
    axes.set_xticklabels(
        [f"{2.0**at:g}" if at >= 0 else f"1/{2**-at}" for at in exponents]
    )
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="both")
    axes.set_axisbelow(True)
    axes.set_xlabel("figure as a multiple of its goal; left of 1 it is met")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    return figure


def _panels(
    pyplot: Any,
    lines: list[Line],
    draw: Callable[[Any, Line], None],
    *,
    height: float,
    **shared: bool,
) -> Any:
    """Return plots of lines' curves, two in a row, with one legend for all.

    Args:
        pyplot: matplotlib's.
        lines: A plot for each.
        draw: Draws the curves of one.
        height: That of a row, in inches.
        shared: The axes that are the same for all, as for `pyplot.subplots`.
    """
    rows = max(1, math.ceil(len(lines) / 2))
    figure, grid = pyplot.subplots(
        rows, 2, figsize=(8, height * rows), squeeze=False, **shared
    )
    for at in range(len(lines), 2 * rows):
        grid[at // 2][at % 2].set_axis_off()
    for at, line in enumerate(lines):
        axes = grid[at // 2][at % 2]
        draw(axes, line)
        axes.grid()
        axes.set_title(line.what, fontsize=9)
        axes.set_xlabel(next(iter(line.curves)))
    if lines:
        handles, names = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="upper center", ncols=len(names))
        figure.tight_layout(rect=(0, 0, 1, 0.94))
    return figure


def _scale(axes: Any, line: Line) -> None:
    """Draw the workers' efficiency by their number."""
    abscissa, *names = line.curves
    for name in names:
        shares = [100 * one for one in line.curves[name]]
        axes.plot(line.curves[abscissa], shares, label=name, linewidth=1.5)
    axes.set_xscale("log", base=2)
    axes.set_xticks(line.curves[abscissa])
    axes.set_xticklabels([f"{one:g}" for one in line.curves[abscissa]])
    axes.set_ylim(0, 105)
    axes.set_ylabel("% on functions")


def _plain(value: float, _at: int) -> str:
    return f"{value:,g}"


def _recalled(pyplot: Any, lines: list[Line]) -> Any:
    """Return the plot of a run that recalls everything, by the number of functions."""
    figure, axes = pyplot.subplots(figsize=(6, 3.2))
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_plain)
    for line in lines:
        abscissa, *names = line.curves
        at = line.curves[abscissa]
        for name in names:
            took = [1e3 * one for one in line.curves[name]]
            axes.plot(at, took, "o-", color=_GREEN, label=name, linewidth=1.5)
            each = took[-1] / at[-1]
            label = f"{1e3 * each:.0f} us for each function"
            in_proportion = [each * one for one in at]
            axes.plot(at, in_proportion, "--", color=_FIT, label=label, lw=1)
        axes.set_xlabel(abscissa)
        axes.set_ylabel("ms")
        axes.legend(loc="upper left")
    axes.grid()
    axes.set_axisbelow(True)
    return figure


def _alternatives(axes: Any, line: Line) -> None:
    """Draw speed-ups by the cost of a pass."""
    abscissa, *names = line.curves
    axes.axhline(1, color=_INK, linewidth=1)
    for name in names:
        style = _PEERS.get(name, {})
        axes.plot(line.curves[abscissa], line.curves[name], label=name, **style)
    axes.set_xscale("log")
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_plain)
    axes.tick_params(labelbottom=True)
    axes.set_ylim(1 / 16, 2.8)
    axes.set_ylabel("speed-up")
