"""Rows `op` and `collector`: what a large program takes in process, and its collector.

What is done to an operation is in microseconds, by the processor's clock, with the
garbage collector as Python sets it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

from bench.measure import Setting, clocked, interleaved, median, ratio
from bench.table import Goal, Line, Row
from bench.work import Work, generated_function, light_pass, no_pass
from parpass import IRModule, Sequential, load_json, relay, save_json

_NODES = 300
_OPS = 60_000
_GOALS = {"InferType": 10, "print": 8, "parse": 10, "save_json": 8, "load_json": 10}
_SMALL, _FUNCTIONS = 10, 10_000


def _op(setting: Setting) -> Iterator[Line]:
    count = setting.scaled(_OPS // _NODES)
    functions = {f"f{at}": generated_function(at, _NODES) for at in range(count)}
    untyped = IRModule(functions)
    typed = Work(count, _NODES, no_pass).module()
    text, json = typed.astext(), save_json(typed)
    infer = relay.transform.InferType()
    actions: dict[str, Callable[[], object]] = {
        "InferType": lambda: infer(untyped),
        "print": typed.astext,
        "parse": lambda: relay.parse(text),
        "save_json": lambda: save_json(typed),
        "load_json": lambda: load_json(json),
    }
    sides = {name: clocked(run, time.process_time) for name, run in actions.items()}
    interleaved(sides, 1)  # not counted: what is loaded and learnt once
    times = interleaved(sides, setting.repeat)
    for name in actions:
        yield Line(
            f"{count * _NODES:,} typed operations in {count:,} functions",
            f"{name}: processor's time for each",
            median(times[name]).times(1e6 / (count * _NODES), "us"),
            Goal(_GOALS[name]),
            times={name: times[name]},
        )


def _collector(setting: Setting) -> Iterator[Line]:
    count = setting.scaled(_FUNCTIONS, 100)
    mod, root = Work(count, _SMALL, light_pass).module(), Sequential(light_pass())
    run = clocked(lambda: root(mod))

    def without() -> float:
        gc.disable()
        try:
            return run()
        finally:
            gc.enable()

    sides = {"on": run, "off": without}
    interleaved(sides, 1)
    times = interleaved(sides, setting.repeat)
    yield Line(
        f"one light pass on {count:,} functions of {_SMALL} nodes, serial",
        "garbage collector as Python sets it : off",
        ratio(times, "on", "off"),
        Goal(1.15),
        times=times,
    )


ROWS = (Row("op", _op), Row("collector", _collector))
