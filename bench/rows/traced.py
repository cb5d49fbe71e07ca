"""Row `traced`: what it costs to record a trace of a run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import parpass
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from bench.work import PAIRS, USE_WORKERS, Swap, Work, no_pass
from parpass import PassContext, Sequential

_FUNCTIONS = (1_000, 10_000)
_NODES = 30


def _traced(setting: Setting) -> Iterator[Line]:
    passes = Sequential([Swap(PAIRS), Swap(PAIRS), Swap(PAIRS)])
    for count in _FUNCTIONS:
        functions = setting.scaled(count, 50)
        mod = Work(functions, _NODES, no_pass).module()
        with (
            tempfile.TemporaryDirectory() as folder,
            parpass.open_runner(workers=setting.workers) as runner,
            PassContext(config=USE_WORKERS),
        ):
            file = Path(folder, "trace.json")

            def traced() -> object:
                with runner.trace(file):  # noqa: B023 -- used at once
                    return runner.run_sync(mod, passes)  # noqa: B023

            sides = {
                "traced": clocked(traced),
                "untraced": clocked(lambda: runner.run_sync(mod, passes)),  # noqa: B023
            }
            interleaved(sides, 1)  # not counted: what is loaded once
            times = interleaved(sides, max(3, setting.repeat))
            size = file.stat().st_size
        yield Line(
            f"three light passes on {functions:,} functions of {_NODES} nodes",
            "a run with a trace : without",
            ratio(times, "traced", "untraced"),
            Goal(1.05),
            note=f"{size / 1e6:.1f} MB of trace, {size / functions / 3:.0f} bytes for "
            "a pass on a function",
        )


ROWS = (Row("traced", _traced),)
