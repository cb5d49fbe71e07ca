"""Row `constants`: weights that passes leave alone cost nothing, and are not copied."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import parpass
from bench.measure import Figure, Setting, clocked, interleaved, ratio
from bench.memory import peak_growth_of_all
from bench.table import Goal, Line, Row
from bench.work import generated_function, light_pass
from parpass import IRModule, Sequential, relay

_NODES = 300
_ROWS = 8192  # of 8 x 8 float32: 2 MiB in each constant
_COPY = "growth of all processes at its peak, less that without constants : constants"


def _constants(setting: Setting) -> Iterator[Line]:
    count = setting.scaled(256, setting.workers)
    heavy, light = _module(count, _ROWS), _module(count, 1)
    size = count * _ROWS * 8 * 8 * 4
    passes = Sequential(light_pass())
    with parpass.open_runner(workers=setting.workers) as runner:
        for mod in (heavy, light):
            runner.run_sync(mod, passes)
        sides = {
            "with": clocked(lambda: runner.run_sync(heavy, passes)),
            "without": clocked(lambda: runner.run_sync(light, passes)),
        }
        times = interleaved(sides, 3 * setting.repeat)  # a run is short
        growth = [
            peak_growth_of_all(lambda mod=mod: runner.run_sync(mod, passes))
            for mod in (heavy, light)
        ]
    what = (
        f"one light pass on {count:,} functions of {_NODES} nodes with "
        f"{size / 2**20:,.0f} MiB of constants"
    )
    to_without = "parallel run : the same with small constants"
    yield Line(what, to_without, ratio(times, "with", "without"), Goal(1.1), "", times)
    yield Line(
        what,
        _COPY,
        Figure((growth[0] - growth[1]) / size),
        Goal(0.1),
        note="proportional set size of all processes, and files in shared memory; "
        "a second copy would be 1",
    )


def _module(count: int, rows: int) -> IRModule:
    values = np.random.default_rng(0)
    functions: dict[str, relay.Function] = {}
    for at in range(count):
        weights = relay.const(values.random((rows, 8, 8), np.float32))
        functions[f"f{at}"] = generated_function(at, _NODES, weights)
    return relay.transform.InferType()(IRModule(functions))


ROWS = (Row("constants", _constants),)
