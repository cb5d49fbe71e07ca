"""The drawing of a function's way through a run, as SVG for the page on architecture.

    python -m docs.site.function_way

Boxes have colours of their own, and what is beside them one that can be read on a light
page and on a dark one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

DRAWING = Path(__file__).resolve().parents[1] / "function-way.svg"

_WIDTH, _HEIGHT = 196, 54  # of a box
_ACROSS, _DOWN = 218, 112  # from one box to the next
_LEFT, _TOP = 24, 64  # of the first one
_LETTER = 6.7  # how wide one is, in a box
_THERE = 3.25  # the row of what is not in your process
_INK, _PAPER, _EDGE, _FILE = "#1f2d3a", "#eef3f8", "#5b7fa6", "#43617f"
_OUTSIDE = "#7d7d7d"
_FONT = 'font-family="sans-serif" font-size="12"'


class Box(NamedTuple):
    """A step of the way.

    Attributes:
        column: Where it stands, from the left.
        row: And from the top.
        title: What it is.
        file: The file of it, below `parpass`.
    """

    column: int
    row: float
    title: str
    file: str


class Arrow(NamedTuple):
    """A way from one box to another.

    Attributes:
        path: The corners, as columns and rows; a half is between two boxes.
        label: What goes along it.
        at: Where the label begins, as a column and a row.
    """

    path: Sequence[tuple[float, float]]
    label: str = ""
    at: tuple[float, float] = (0, 0)


class Lane(NamedTuple):
    """What surrounds boxes.

    Attributes:
        title: What it is.
        top: The row of the first box.
        bottom: The row of the last one.
        left: The column of the first box.
        right: The column of the last one.
        below: How much room there is below the boxes.
    """

    title: str
    top: float
    bottom: float
    left: int
    right: int
    below: int


BOXES = (
    Box(0, 0, "run_pipeline", "api.py"),
    Box(1, 0, "the runs of a runner", "runner/driver/session.py"),
    Box(2, 0, "the plan", "transform/plan/plan.py"),
    Box(3, 0, "carries out the plan", "runner/driver/parallel.py"),
    Box(4, 0, "here, or workers?", "runner/driver/stages.py"),
    Box(2, 1, "results by pass", "runner/stage/outcomes.py"),
    Box(3, 1, "stage in this process", "runner/driver/local.py"),
    Box(4, 1, "stage in workers", "runner/driver/remote.py"),
    Box(2, 2, "who runs what when", "runner/pool/scheduler.py"),
    Box(3, 2, "sends jobs, hears", "runner/pool/coordinator.py"),
    Box(4, 2, "encodes functions", "runner/pool/stage_writer.py"),
    Box(3, _THERE, "loop over messages", "runner/worker/main.py"),
    Box(2, _THERE, "decodes functions", "runner/worker/stage_runner.py"),
    Box(1, _THERE, "pass after pass", "runner/stage/interpreter.py"),
    Box(0, _THERE, "calls your pass", "transform/plan/invoke.py"),
    Box(4, _THERE, "functions by number", "runner/ipc/batch.py"),
)
_HALF = _WIDTH / 2 / _ACROSS  # of a box, in columns
_TALL = _HEIGHT / 2 / _DOWN  # and in rows
ARROWS = (
    *(Arrow([(at + _HALF, 0), (at + 1 - _HALF, 0)]) for at in range(4)),
    Arrow([(4, _TALL), (4, 1 - _TALL)], "worth workers", (4.03, 0.5)),
    Arrow(
        [(3.8, _TALL), (3.8, 0.5), (3, 0.5), (3, 1 - _TALL)],
        "small, or no worker can run it",
        (2.72, 0.44),
    ),
    Arrow([(3 - _HALF, 1), (2 + _HALF, 1)]),
    Arrow([(2, 1 - _TALL), (2, _TALL)], "records, in serial order", (1.26, 0.5)),
    Arrow([(4, 1 + _TALL), (4, 2 - _TALL)]),
    Arrow([(4 - _HALF, 2), (3 + _HALF, 2)]),
    Arrow([(3 - _HALF, 1.94), (2 + _HALF, 1.94)]),
    Arrow([(2 + _HALF, 2.06), (3 - _HALF, 2.06)]),
    Arrow([(3, 2 - _TALL), (3, 1.5), (2, 1.5), (2, 1 + _TALL)]),
    Arrow([(4, 2 + _TALL), (4, _THERE - _TALL)], "functions, constants", (3.42, 2.66)),
    Arrow([(2.94, 2 + _TALL), (2.94, _THERE - _TALL)], "job: numbers", (2.55, 2.66)),
    Arrow([(3.06, _THERE - _TALL), (3.06, 2 + _TALL)], "result", (3.09, 2.66)),
    Arrow([(4 - _HALF, _THERE), (3 + _HALF, _THERE)]),
    *(Arrow([(at - _HALF, _THERE), (at - 1 + _HALF, _THERE)]) for at in (3, 2, 1)),
    Arrow(
        [(0, _THERE + _TALL), (0, 3.68), (3, 3.68), (3, _THERE + _TALL)],
        'bytes, or "unchanged"; diagnostics, remarks, logs, counters; or the error',
        (0.1, 3.64),
    ),
)
LANES = (
    Lane("your process", 0, 2, 0, 4, 8),
    Lane("a worker", _THERE, _THERE, 0, 3, 30),
    Lane("shared files", _THERE, _THERE, 4, 4, 30),
)


def function_way() -> str:
    """Return the drawing."""
    width, height = _x(4) + _WIDTH / 2 + 14, _y(_THERE) + 70
    size = f'viewBox="0 0 {width:g} {height:g}"'
    tip = 'id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"'
    lines = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} {_FONT}>',
        "<title>How a function passes through a run</title>",
        f"<defs><marker {tip}>",
        f'<path d="M0,0 L8,4 L0,8 z" fill="{_OUTSIDE}"/>',
        "</marker></defs>",
        *(one for lane in LANES for one in _lane(lane)),
        *(one for arrow in ARROWS for one in _arrow(arrow)),
        *(one for box in BOXES for one in _box(box)),
        "</svg>",
    )
    return "\n".join(lines) + "\n"


def room(box: Box) -> float:
    """Return how much room there is beside the longer text of a box."""
    return _WIDTH - max(map(len, (box.title, box.file))) * _LETTER


def _x(column: float) -> float:
    return _LEFT + _WIDTH / 2 - 16 + column * _ACROSS


def _y(row: float) -> float:
    return _TOP + row * _DOWN


def _lane(lane: Lane) -> Iterator[str]:
    x, y = _x(lane.left) - _WIDTH / 2 - 8, _y(lane.top) - _HEIGHT / 2 - 12
    wide = _x(lane.right) + _WIDTH / 2 + 8 - x
    high = _y(lane.bottom) + _HEIGHT / 2 + lane.below - y
    yield (
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="8" '
        f'fill="none" stroke="{_OUTSIDE}" stroke-dasharray="4 4"/>'
    )
    yield _text(x + 4, y - 6, lane.title, 'font-weight="bold"')


def _arrow(arrow: Arrow) -> Iterator[str]:
    corners = " ".join(f"{_x(at):g},{_y(row):g}" for at, row in arrow.path)
    yield (
        f'<polyline points="{corners}" fill="none" stroke="{_OUTSIDE}" '
        'stroke-width="1.5" marker-end="url(#tip)"/>'
    )
    if arrow.label:
        yield _text(_x(arrow.at[0]), _y(arrow.at[1]), arrow.label)


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{_OUTSIDE}" {more}>{escape(text)}</text>'


def _box(box: Box) -> Iterator[str]:
    x, y = _x(box.column), _y(box.row)
    yield (
        f'<rect x="{x - _WIDTH / 2:g}" y="{y - _HEIGHT / 2:g}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" rx="6" fill="{_PAPER}" stroke="{_EDGE}"/>'
    )
    middle = 'text-anchor="middle"'
    yield (
        f'<text x="{x:g}" y="{y - 5:g}" {middle} font-size="13" font-weight="bold" '
        f'fill="{_INK}">{escape(box.title)}</text>'
    )
    yield (
        f'<text x="{x:g}" y="{y + 14:g}" {middle} font-size="11" '
        f'font-family="monospace" fill="{_FILE}">{escape(box.file)}</text>'
    )


if __name__ == "__main__":
    DRAWING.write_text(function_way(), encoding="utf-8")
