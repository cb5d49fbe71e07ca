"""Rows `heavy`, `light` and `one`: how close a run comes to what the cores can do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import parpass
from bench.limit import Limit
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from bench.work import Work, heavy_pass, light_pass, light_passes
from parpass import IRModule, Sequential

_OF_LIMIT = "parallel run : independent processes that send nothing back"
_OF_SERIAL = "serial run : parallel run"


@dataclass(frozen=True)
class WorkShare:
    """A process's share of work, for `Limit`."""

    work: Work

    def __call__(self, part: int, parts: int) -> tuple[IRModule, Sequential]:
        """Return the share's module and the passes."""
        return self.work.share(part, parts), Sequential(self.work.passes())


def _heavy(setting: Setting) -> Iterator[Line]:
    work = Work(setting.scaled(400, setting.workers), 30, heavy_pass)
    what = f"one pass of 5 ms on {work.functions:,} functions"
    yield from _measured(work, what, setting, to_limit=Goal(at_most=1.04))


def _light(setting: Setting) -> Iterator[Line]:
    work = Work(setting.scaled(1000, setting.workers), 300, light_passes)
    what = f"eight light passes on {work.functions:,} functions of 300 nodes"
    yield from _measured(work, what, setting, to_limit=Goal(at_most=1.12))


def _one(setting: Setting) -> Iterator[Line]:
    work = Work(setting.scaled(1000, setting.workers), 300, light_pass)
    what = f"one light pass on {work.functions:,} functions of 300 nodes"
    yield from _measured(work, what, setting, to_serial=Goal(at_least=1.8))


def _measured(
    work: Work,
    what: str,
    setting: Setting,
    *,
    to_limit: Goal | None = None,
    to_serial: Goal | None = None,
) -> Iterator[Line]:
    mod, passes = work.module(), Sequential(work.passes())
    share = WorkShare(work)
    with (
        parpass.open_runner(workers=setting.workers) as runner,
        Limit(share, setting.workers) as limit,
    ):
        serial = clocked(lambda: passes(mod))
        parallel = clocked(lambda: runner.run_sync(mod, passes))
        parpass.assert_structural_equal(runner.run_sync(mod, passes), passes(mod))
        sides = {"parallel": parallel, "limit": limit.seconds}
        if to_serial is not None:
            sides["serial"] = serial
        times = interleaved(sides, setting.repeat)
        if to_serial is None:  # it takes long, and is here to be seen beside the rest
            times["serial"] = [serial()] * setting.repeat
    yield Line(
        what, _OF_LIMIT, ratio(times, "parallel", "limit"), to_limit, times=times
    )
    yield Line(what, _OF_SERIAL, ratio(times, "serial", "parallel"), to_serial)


ROWS = (Row("heavy", _heavy), Row("light", _light), Row("one", _one))
