"""Row `growth`: ten times the functions take ten times as long, and little memory."""

from __future__ import annotations

from collections.abc import Iterator

import parpass
from bench.measure import Figure, Setting, clocked, interleaved, ratio
from bench.memory import peak_resident_bytes, resident_bytes
from bench.table import Goal, Line, Row
from bench.work import USE_WORKERS, generated_function, light_pass
from parpass import IRModule, PassContext, Sequential, relay

_NODES = 10
_AT_ONCE = 1000  # functions typed at once, so that little is freed while they are made


def _growth(setting: Setting) -> Iterator[Line]:
    few, many = setting.scaled(2500, 100), setting.scaled(25_000, 1000)
    passes = Sequential(light_pass())
    # All of it, as it is the runner that is to grow no faster than its work.
    with (
        parpass.open_runner(workers=setting.workers) as runner,
        PassContext(config=USE_WORKERS),
    ):
        small = _module(few)
        runner.run_sync(small, passes)  # all is loaded, the workers have started
        before = resident_bytes()
        large = _module(many)
        size = resident_bytes() - before
        taken = peak_resident_bytes(lambda: runner.run_sync(large, passes)) - before
        sides = {
            "few": clocked(lambda: runner.run_sync(small, passes)),
            "many": clocked(lambda: runner.run_sync(large, passes)),
        }
        times = interleaved(sides, setting.fewer)
    what = f"one light pass on {many:,} functions of {_NODES} nodes, all by workers"
    yield Line(
        what,
        f"time : time for {few:,} functions",
        ratio(times, "many", "few"),
        Goal(10.5),
        times=times,
    )
    yield Line(
        what,
        "peak memory of the coordinator : memory of the module",
        Figure(taken / size),
        Goal(1.5),
        note=f"the module takes {size / 1e6:,.0f} MB",
    )


def _module(count: int) -> IRModule:
    functions: dict[str, relay.Function] = {}
    infer = relay.transform.InferType()
    for first in range(0, count, _AT_ONCE):
        some = range(first, min(first + _AT_ONCE, count))
        part = IRModule({f"f{at}": generated_function(at, _NODES) for at in some})
        functions |= infer(part).functions_by_name
    return IRModule(functions)


ROWS = (Row("growth", _growth),)
