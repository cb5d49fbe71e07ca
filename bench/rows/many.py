"""Row `many`: a program with many small functions of an IR of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator

from bench.measure import Setting, ratio
from bench.table import Goal, Line, Row

_FUNCTIONS = 50_000
_WORKERS = 2
_OF_THE_LIMIT = Goal(at_least=0.8)  # 1.6 times as fast as serial, of twice


def _many(setting: Setting) -> Iterator[Line]:
    functions = setting.scaled(_FUNCTIONS, 2_000)
    command = [sys.executable, "-m", "bench.own_ir", str(functions), str(_WORKERS)]
    times = defaultdict[str, list[float]](list)
    processor = defaultdict[str, list[float]](list)
    for _ in range(setting.fewer):
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        told = json.loads(run.stdout)
        for name, seconds in told["seconds"].items():
            times[name].append(seconds)
        for name, seconds in told["processor"].items():
            processor[name].append(seconds)
    what = f"three passes of 0.1 ms on {functions:,} functions of a program's own IR"
    for name in ("first run", "second run"):
        figure = ratio(times, "limit", name)
        compares = f"{_WORKERS} processes that share nothing : {name} with as many"
        yield Line(what, compares, figure, _OF_THE_LIMIT, times=dict(times))
    figure = ratio(processor, "second run", "serial")
    yield Line(
        what, "processor time, second run : serial", figure, times=dict(processor)
    )


ROWS = (Row("many", _many),)
