"""Row `small`: work too small for a pool must not be slower for having one.

The worst of a hundred sizes is asked for, and the worst of a hundred measurements is
mostly the unluckiest. So the sizes that look worst are measured again, for so long that
a moment in which the machine does something else is not half of it, and only those
second measurements count.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence

import parpass
from bench.measure import Figure, Setting, Times, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from bench.work import USE_WORKERS, Work, light_pass, light_passes
from parpass import Pass, PassContext, Sequential
from parpass.runner import Runner

_LIGHT, _EIGHT = Goal(1.04), Goal(1.05)
_LARGEST = 100
_NODES = 10
_SUSPECTS = 5
_LONGER = 5  # times as many runs for a suspect, at least
_SECONDS = 1.5  # for a suspect, at least


def _small(setting: Setting) -> Iterator[Line]:
    with parpass.open_runner() as runner:
        with PassContext(config=USE_WORKERS):  # a warm runner: its processes started
            runner.run_sync(Work(20, 300, light_pass).module(), light_pass())
        repeat, scale = setting.repeat, setting.scale
        step = max(1, round(1 / scale))
        sizes = range(1, _LARGEST + 1, step)
        runs = 3 * repeat
        yield _line("one light pass", light_pass, runner, sizes, runs, scale, _LIGHT)
        sizes = range(5, _LARGEST + 1, 5 * step)
        eight = "eight light passes"
        yield _line(eight, light_passes, runner, sizes, repeat, scale, _EIGHT)


def _line(
    what: str,
    passes: Callable[[], Sequence[Pass]],
    runner: Runner,
    sizes: Sequence[int],
    rounds: int,
    scale: float,
    goal: Goal,
) -> Line:
    pipeline = Sequential(passes())

    def measured(size: int, rounds: int) -> Times:
        mod = Work(size, _NODES, passes).module()
        sides = {
            "serial": clocked(lambda: pipeline(mod)),
            "parallel": clocked(lambda: runner.run_sync(mod, pipeline)),
        }
        interleaved(sides, 2, collect=False)  # not counted: what is made once
        return interleaved(sides, rounds, collect=False)

    def slowdown(times: Times) -> Figure:
        return ratio(times, "parallel", "serial")

    def longer(size: int) -> int:
        round_seconds = sum(statistics.median(one) for one in first[size].values())
        return max(rounds * _LONGER, round(_SECONDS * scale / round_seconds))

    first = {size: measured(size, rounds) for size in sizes}
    suspects = sorted(sizes, key=lambda size: slowdown(first[size]).value)[-_SUSPECTS:]
    again = {size: measured(size, longer(size)) for size in suspects}
    worst = max(again, key=lambda size: slowdown(again[size]).value)
    return Line(
        f"{what} on modules of {sizes[0]} to {sizes[-1]} functions of {_NODES} nodes, "
        f"{len(sizes)} sizes, workers=None",
        f"parallel run : serial run, the worst ({worst} functions)",
        slowdown(again[worst]),
        goal,
        times=again[worst],
    )


ROWS = (Row("small", _small),)
