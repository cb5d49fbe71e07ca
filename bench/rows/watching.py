"""Row `watching`: what it costs to look at what passes change."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import parpass
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from bench.work import PAIRS, USE_WORKERS, Swap, Work, no_pass
from parpass import PassContext, Sequential
from parpass.instrument import PrintChanged

_FUNCTIONS = (1_000, 10_000)
_NODES = 30


def _watching(setting: Setting) -> Iterator[Line]:
    changing = Sequential([Swap(PAIRS), Swap(PAIRS), Swap(PAIRS)])
    keeping = Sequential([Swap(()), Swap(()), Swap(())])
    for count in _FUNCTIONS:
        functions = setting.scaled(count, 50)
        mod = Work(functions, _NODES, no_pass).module()
        with parpass.open_runner(workers=setting.workers) as runner:

            def run(
                pipeline: Sequential, *watchers: PrintChanged
            ) -> Callable[[], object]:
                context = PassContext(config=USE_WORKERS, instruments=watchers)
                return lambda: runner.run_sync(mod, pipeline, context=context)  # noqa: B023

            def recorded() -> object:
                with runner.record():
                    return run(changing)()

            sides = {
                "changing": clocked(run(changing)),
                "filtered": clocked(run(changing, PrintChanged(functions=["none"]))),
                "keeping": clocked(run(keeping)),
                "watched": clocked(run(keeping, PrintChanged())),
                "recorded": clocked(recorded),
            }
            interleaved(sides, 1)  # not counted: what is loaded once
            times = interleaved(sides, max(3, setting.repeat))
        what = f"three light passes on {functions:,} functions of {_NODES} nodes"
        yield Line(
            what,
            "changes are printed of functions that there are none of : unwatched",
            ratio(times, "filtered", "changing"),
            Goal(1.3),
        )
        yield Line(
            f"{what}, which change none",
            "changes are printed : unwatched",
            ratio(times, "watched", "keeping"),
            Goal(1.3),
        )
        yield Line(
            what,
            "recorded for a page, with a text of each change : unwatched",
            ratio(times, "recorded", "changing"),
        )


ROWS = (Row("watching", _watching),)
