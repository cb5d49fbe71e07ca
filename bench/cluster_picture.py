"""Draws what the simulated clusters reach: `python -m bench.cluster_picture FILE`."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

from bench.cluster_simulation import Cluster, Costs, simulated

WORKERS = (10, 30, 100, 300, 1000)
_WORK = 5.0  # seconds for each worker
_LINES: tuple[tuple[str, str, Cluster], ...] = (
    ("1 s a function", "#1b7837", Cluster(0, 0, 1.0)),
    (
        "1 s, a worker dies each 1,000 s",
        "#7fbf7b",
        Cluster(0, 0, 1.0, lifetime=1000.0),
    ),
    ("100 ms", "#2166ac", Cluster(0, 0, 0.1)),
    (
        "100 ms, packing for nothing",
        "#92c5de",
        Cluster(0, 0, 0.1, costs=Costs(pack=0.0)),
    ),
    ("20 ms", "#b2182b", Cluster(0, 0, 0.02)),
    (
        "20 ms, jobs as on one machine",
        "#f4a582",
        Cluster(0, 0, 0.02, follows=False),
    ),
)
_LEFT, _TOP, _WIDTH, _HEIGHT = 60, 20, 420, 260


def figures() -> dict[str, list[float]]:
    """Return the efficiencies of each line, by number of workers."""
    return {
        name: [simulated(_of(cluster, count)).efficiency for count in WORKERS]
        for name, _, cluster in _LINES
    }


def _of(cluster: Cluster, workers: int) -> Cluster:
    functions = round(workers * _WORK / cluster.seconds)
    return replace(cluster, workers=workers, functions=functions)


def picture(found: dict[str, list[float]]) -> str:
    """Return an SVG of efficiencies by number of workers, which grows tenfold."""
    parts = [
        (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 330" '
            'font-family="sans-serif" font-size="12">'
        ),
        '<rect width="720" height="330" fill="white"/>',
        f'<text x="{_LEFT}" y="14">share of the workers\' time on functions</text>',
        f'<text x="{_LEFT + 150}" y="322">workers</text>',
    ]
    for share in (0, 25, 50, 75, 100):
        y = _y(share / 100)
        parts.append(
            f'<path d="M{_LEFT} {y:.0f}h{_WIDTH}" stroke="#ddd"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{share}%</text>'
        )
    parts.extend(
        f'<text x="{_x(count):.0f}" y="300" text-anchor="middle">{count:,}</text>'
        for count in WORKERS
    )
    for at, (name, colour, _) in enumerate(_LINES):
        points = " ".join(
            f"{_x(count):.0f},{_y(value):.0f}"
            for count, value in zip(WORKERS, found[name], strict=True)
        )
        y = 40 + 24 * at
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" '
            f'stroke-width="2"/><path d="M500 {y}h20" stroke="{colour}" '
            f'stroke-width="2"/><text x="526" y="{y + 4}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _x(workers: int) -> float:
    first, last = math.log(WORKERS[0]), math.log(WORKERS[-1])
    return _LEFT + _WIDTH * (math.log(workers) - first) / (last - first)


def _y(share: float) -> float:
    return _TOP + _HEIGHT * (1 - share)


if __name__ == "__main__":
    made = figures()
    for line, values in made.items():
        print(line, *(f"{value:.0%}" for value in values))
    Path(sys.argv[1]).write_text(picture(made))
