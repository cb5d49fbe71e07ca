"""The plots of the page on speed, drawn by matplotlib as SVG.

The same figures give the same file with the same matplotlib: no date is in it, and
what its parts are called does not change.
"""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.table import Line, Report

_FONT = {"svg.fonttype": "none", "svg.hashsalt": "parpass", "font.size": 9}
_COLOURS = {"met": "#1b7837", "missed": "#b2182b"}
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
    curves = _curves(report, "scale")
    with import_module("matplotlib").rc_context(_FONT):
        for name, figure in {
            "performance-goals": _goals(pyplot, report),
            "performance-scale": _scale(pyplot, curves),
            "performance-recalled": _recalled(pyplot, _curves(report, "incremental")),
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


def _goals(pyplot: Any, report: Report) -> Any:
    """Return the plot of all figures as multiples of their goals, a line for a row."""
    points = [
        (name, line.share, line.verdict)
        for name, line in report.goals()
        if line.goal is not None and line.figure is not None
    ]
    names = list(dict.fromkeys(name for name, _, _ in points))
    figure, axes = pyplot.subplots(figsize=(7, 0.22 * len(names) + 1))
    axes.axvline(1, color="#333333", linewidth=1)
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
    axes.grid(axis="both", color="#eeeeee")
    axes.set_axisbelow(True)
    axes.set_xlabel("figure as a multiple of its goal; left of 1 it is met")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    return figure


def _scale(pyplot: Any, lines: list[Line]) -> Any:
    """Return the plots of the workers' efficiency by their number, two in a row."""
    rows = max(1, math.ceil(len(lines) / 2))
    figure, grid = pyplot.subplots(
        rows, 2, figsize=(8, 2.6 * rows), sharey=True, squeeze=False
    )
    for at in range(len(lines), 2 * rows):
        grid[at // 2][at % 2].set_axis_off()
    for at, line in enumerate(lines):
        axes = grid[at // 2][at % 2]
        abscissa, *names = line.curves
        for name in names:
            shares = [100 * one for one in line.curves[name]]
            axes.plot(line.curves[abscissa], shares, label=name, linewidth=1.5)
        axes.set_xscale("log", base=2)
        axes.set_xticks(line.curves[abscissa])
        axes.set_xticklabels([f"{one:g}" for one in line.curves[abscissa]])
        axes.set_ylim(0, 105)
        axes.grid(color="#dddddd")
        axes.set_title(line.what, fontsize=9)
        axes.set_xlabel(abscissa)
        axes.set_ylabel("% on functions")
    if lines:
        handles, names = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="upper center", ncols=len(names))
        figure.tight_layout(rect=(0, 0, 1, 0.94))
    return figure


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
            axes.plot(at, took, "o-", color="#1b7837", label=name, linewidth=1.5)
            each = took[-1] / at[-1]
            label = f"{1e3 * each:.0f} us for each function"
            in_proportion = [each * one for one in at]
            axes.plot(at, in_proportion, "--", color="#777777", label=label, lw=1)
        axes.set_xlabel(abscissa)
        axes.set_ylabel("ms")
        axes.legend(loc="upper left")
    axes.grid(color="#dddddd")
    axes.set_axisbelow(True)
    return figure
