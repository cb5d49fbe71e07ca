"""Rows `heavy`, `light` and `one`: how close a run comes to what the cores can do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import parpass
from bench.limit import Limit
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from bench.work import (
    USE_WORKERS,
    SharedWork,
    Work,
    heavier_pass,
    heavy_pass,
    light_pass,
    light_passes,
)
from parpass import IRModule, PassContext, Sequential

_OF_LIMIT = "parallel run : independent processes that send nothing back"
_OF_SERIAL = "serial run : parallel run"


@dataclass(frozen=True)
class WorkShare:
    """A process's share of work, for `Limit`."""

    work: SharedWork

    def __call__(self, part: int, parts: int) -> tuple[IRModule, Sequential]:
        """Return the share's module and the passes."""
        return self.work.share(part, parts), Sequential(self.work.passes())


def _heavy(setting: Setting) -> Iterator[Line]:
    for passes, milliseconds in ((heavy_pass, 5), (heavier_pass, 20)):
        work = Work(setting.scaled(400, setting.workers), 30, passes)
        what = f"one pass of {milliseconds} ms on {work.functions:,} functions"
        goal = Goal(at_most=1.04)
        yield from to_limit_and_serial(
            work, what, setting, setting.repeat, to_limit=goal
        )


def _light(setting: Setting) -> Iterator[Line]:
    work = Work(setting.scaled(1000, setting.workers), 300, light_passes)
    what = f"eight light passes on {work.functions:,} functions of 300 nodes"
    goal = Goal(at_most=1.12)
    yield from to_limit_and_serial(work, what, setting, setting.fewer, to_limit=goal)


def _one(setting: Setting) -> Iterator[Line]:
    work = Work(setting.scaled(250, setting.workers), 300, light_pass)
    what = f"one light pass on {work.functions:,} functions of 300 nodes"
    goal = Goal(at_least=1.5)
    yield from to_limit_and_serial(work, what, setting, setting.repeat, to_serial=goal)


def to_limit_and_serial(
    work: SharedWork,
    what: str,
    setting: Setting,
    rounds: int,
    *,
    to_limit: Goal | None = None,
    to_serial: Goal | None = None,
) -> Iterator[Line]:
    """Yield how passes on warm workers compare to independent processes, and to one."""
    mod, passes = work.module(), Sequential(work.passes())
    with (
        parpass.open_runner(workers=setting.workers) as runner,
        Limit(WorkShare(work), setting.workers) as limit,
    ):
        few = work.share(0, 50)
        with PassContext(config=USE_WORKERS):  # they are started, and load the passes
            made = runner.run_sync(few, passes)
        parpass.assert_structural_equal(made, passes(few))
        runner.run_sync(mod, passes)
        sides = {
            "parallel": clocked(lambda: runner.run_sync(mod, passes)),
            "limit": limit.seconds,
            "serial": clocked(lambda: passes(mod)),
        }
        times = interleaved(sides, rounds, once=() if to_serial else ("serial",))
    yield Line(
        what, _OF_LIMIT, ratio(times, "parallel", "limit"), to_limit, times=times
    )
    yield Line(what, _OF_SERIAL, ratio(times, "serial", "parallel"), to_serial)


ROWS = (Row("heavy", _heavy), Row("light", _light), Row("one", _one))
