"""Row `infrastructure`: what running a pass costs that does nothing, serially."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Setting, clocked, interleaved, median
from bench.table import Goal, Line, Row
from bench.work import Work, no_pass
from parpass import IRModule, ModulePass, PassContext, PassInfo, Sequential

_PASSES = 1000


class _Nothing(ModulePass):
    pass_info = PassInfo(0, "Nothing")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module."""
        return mod


def _infrastructure(setting: Setting) -> Iterator[Line]:
    mod = Work(1, 10, no_pass).module()
    pipeline = Sequential([_Nothing() for _ in range(_PASSES)])
    pipeline(mod)
    sides = {"serial": clocked(lambda: pipeline(mod))}
    times = interleaved(sides, 40 * setting.repeat, collect=False)
    yield Line(
        f"a Sequential of {_PASSES:,} no-op module passes, serial, no instruments",
        "time for each pass",
        median(times["serial"]).times(1e6 / _PASSES, "us"),
        Goal(5),
        times=times,
    )


ROWS = (Row("infrastructure", _infrastructure),)
