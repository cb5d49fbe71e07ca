"""Row `skew`: one function holds half of all work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import parpass
from bench.limit import Limit
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from bench.work import generated_function, light_passes
from parpass import IRModule, Sequential, relay

_SMALL = 300  # nodes


@dataclass(frozen=True)
class _Skewed:
    """A module with one large function; can be sent to other processes.

    Attributes:
        others: How many small functions; the large one has as many nodes as all these.
    """

    others: int

    def module(self) -> IRModule:
        """Return all functions, typed."""
        # The giant comes last, where waiting for it would cost most.
        return _typed(self._small(0, 1) | self._giant())

    def alone(self) -> IRModule:
        """Return the large function."""
        return _typed(self._giant())

    def __call__(self, part: int, parts: int) -> tuple[IRModule, Sequential]:
        """Return a process's share for `Limit`: the giant, or some of the others."""
        functions = self._small(part - 1, parts - 1) if part else self._giant()
        return _typed(functions), Sequential(light_passes())

    def _giant(self) -> dict[str, relay.Function]:
        return {"giant": generated_function(0, self.others * _SMALL)}

    def _small(self, part: int, parts: int) -> dict[str, relay.Function]:
        seeds = range(1 + part, self.others + 1, parts)
        return {f"f{at}": generated_function(at, _SMALL) for at in seeds}


def _typed(functions: dict[str, relay.Function]) -> IRModule:
    return relay.transform.InferType()(IRModule(functions))


def _skew(setting: Setting) -> Iterator[Line]:
    work = _Skewed(setting.scaled(60, setting.workers))
    mod, alone, passes = work.module(), work.alone(), Sequential(light_passes())
    with (
        parpass.open_runner(workers=setting.workers) as runner,
        Limit(work, max(2, setting.workers)) as limit,
    ):
        runner.run_sync(mod, passes)
        times = interleaved(
            {
                "parallel": clocked(lambda: runner.run_sync(mod, passes)),
                "limit": limit.seconds,
                "giant": clocked(lambda: passes(alone)),
            },
            2 * setting.repeat,
        )
    what = (
        f"eight light passes; one function of {work.others * _SMALL:,} nodes, "
        f"{work.others:,} of {_SMALL}"
    )
    yield Line(
        what,
        "parallel run : serial run of the large function alone",
        ratio(times, "parallel", "giant"),
        Goal(1.3),
        times=times,
    )
    yield Line(
        what,
        "parallel run : independent processes that send nothing back, one for it",
        ratio(times, "parallel", "limit"),
    )


ROWS = (Row("skew", _skew),)
