"""Row `report`: what the page of a run costs, beside the run.

The command is cold: it reads the program, runs the passes and writes the page.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.measure import Setting, interleaved, processor_seconds, ratio
from bench.table import Goal, Line, Row
from bench.work import tiny_command

_FUNCTIONS = 5_000
_KINDS = {
    True: "that differ in their names",
    False: "of different operators and shapes",
}


def _report(setting: Setting) -> Iterator[Line]:
    count = setting.scaled(_FUNCTIONS, 50)
    for alike, kind in _KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            plain = tiny_command(folder, count, alike=alike)
            reported = [*plain, "--report", str(Path(folder, "page.html"))]
            sides = {
                "plain": partial(processor_seconds, plain),
                "reported": partial(processor_seconds, reported),
            }
            times = interleaved(sides, setting.fewer)
        yield Line(
            f"parpass opt -O2 on {count:,} tiny functions {kind}",
            "processor time, with --report : without",
            ratio(times, "reported", "plain"),
            Goal(1.3),
            times=times,
        )


ROWS = (Row("report", _report),)
