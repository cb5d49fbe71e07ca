"""Row `report`: what the page of a run costs, beside the run.

The command is cold: it reads the program, runs the passes and writes the page.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.measure import Setting, interleaved, processor_seconds, ratio
from bench.table import Goal, Line, Row
from bench.work import tiny_program

_FUNCTIONS = 5_000
_KINDS = {
    True: "that differ in their names",
    False: "of different operators and shapes",
}


def _report(setting: Setting) -> Iterator[Line]:
    count = setting.scaled(_FUNCTIONS, 50)
    for alike, kind in _KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "tiny.relay")
            program.write_text(tiny_program(count, alike=alike), encoding="utf-8")
            plain = [sys.executable, "-m", "parpass", "opt", str(program), "-O2", "-q"]
            plain += ["-o", os.devnull]
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
