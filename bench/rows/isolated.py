"""Row `isolated`: what it costs to run a small function where it can do no harm."""

from __future__ import annotations

from collections.abc import Iterator

import parpass
from bench.measure import Setting, clocked, interleaved, median
from bench.table import Goal, Line, Row
from bench.work import Work, light_pass, no_pass
from parpass import Sequential

_NODES = 10
_ROUNDS = 100  # for each of the rounds that are asked for


def _isolated(setting: Setting) -> Iterator[Line]:
    with parpass.open_runner(workers=setting.workers, isolated=True) as runner:
        for name, passes in {"no-op": no_pass, "light": light_pass}.items():
            mod, root = Work(1, _NODES, passes).module(), Sequential(passes())
            sides = {
                "isolated": clocked(lambda: runner.run_sync(mod, root)),  # noqa: B023
                "serial": clocked(lambda: root(mod)),  # noqa: B023 -- used at once
            }
            interleaved(sides, 20, collect=False)  # not counted: what is made once
            rounds = max(20, round(_ROUNDS * setting.scale)) * setting.repeat
            times = interleaved(sides, rounds, collect=False)
            serial = median(times["serial"]).times(1e6, "us")
            yield Line(
                f"a {name} pass on one function of {_NODES} nodes, isolated",
                "a warm runner's round trip",
                median(times["isolated"]).times(1e6, "us"),
                Goal(300) if passes is no_pass else None,
                note=f"{serial.value:.0f} us serially",
            )


ROWS = (Row("isolated", _isolated),)
