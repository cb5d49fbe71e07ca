"""Row `skew`: one function holds half of all work."""

from __future__ import annotations

from collections.abc import Iterator

import parpass
from bench.measure import Setting, clocked, interleaved, ratio
from bench.table import Goal, Line, Row
from bench.work import generated_function, light_passes
from parpass import IRModule, Sequential, relay

_SMALL = 300  # nodes


def _skew(setting: Setting) -> Iterator[Line]:
    others = setting.scaled(60, setting.workers)
    giant = {"giant": generated_function(0, others * _SMALL)}
    rest = {f"f{at}": generated_function(at, _SMALL) for at in range(1, others + 1)}
    infer = relay.transform.InferType()
    # The giant comes last, where waiting for it would cost most.
    mod, alone = infer(IRModule(rest | giant)), infer(IRModule(giant))
    passes = Sequential(light_passes())
    with parpass.open_runner(workers=setting.workers) as runner:
        runner.run_sync(mod, passes)
        times = interleaved(
            {
                "parallel": clocked(lambda: runner.run_sync(mod, passes)),
                "giant": clocked(lambda: passes(alone)),
            },
            setting.repeat,
        )
    yield Line(
        f"eight light passes; one function of {others * _SMALL:,} nodes, "
        f"{others:,} of {_SMALL}",
        "parallel run : serial run of the large function alone",
        ratio(times, "parallel", "giant"),
        Goal(1.05),
        times=times,
    )


ROWS = (Row("skew", _skew),)
