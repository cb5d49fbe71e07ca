"""Row `node`: what is done to a node, in microseconds and as shares of a pass."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator

import parpass
from bench.collector import WatchCollector, collecting_seconds, watch_collector
from bench.measure import Figure, Setting, clocked, interleaved, median
from bench.table import Line, Row
from bench.work import (
    PAIRS,
    USE_WORKERS,
    Swap,
    Swapper,
    Work,
    light_pass,
    light_passes,
    random_program,
)
from parpass import IRModule, PassContext, Sequential, relay
from parpass.ir.op.op_table import Op
from parpass.transform import adapter_of

_NODES = 300


class _Count(relay.ExprVisitor):
    """Counts calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def visit_call(self, call: relay.Call) -> None:
        """Count it."""
        self.calls += 1
        super().visit_call(call)


def _node(setting: Setting) -> Iterator[Line]:
    count = setting.scaled(100)
    mod = Work(count, _NODES, light_pass).module()
    swap = Swap(PAIRS)

    def a_pass() -> object:
        return swap(mod)

    actions = _actions(mod, count)
    sides = {"one light pass": a_pass, **actions}
    times = interleaved(
        {name: clocked(run) for name, run in sides.items()}, 2 * setting.repeat
    )
    whole = median(times["one light pass"]).value
    what = f"{count:,} functions of {_NODES} nodes, serial"
    for name in sides:
        figure = median(times[name])
        yield Line(
            what,
            f"{name}: for each node",
            figure.times(1e6 / (count * _NODES), "us"),
            note=f"{figure.value / whole:.0%} of a pass" if name in actions else "",
            times={name: times[name]},
        )
    yield from _collecting(setting)


def _actions(mod: IRModule, count: int) -> dict[str, Callable[[], object]]:
    functions = list(mod.functions_by_name.values())
    adapter = adapter_of(mod, "bench")
    encoded = [adapter.encode_function(one, lambda _: None) for one in functions]
    programs = [
        [(Op.get(step.op), step.args) for step in random_program(at, _NODES)]
        for at in range(count)
    ]
    untyped = IRModule(
        {name: Swapper(PAIRS).visit(one) for name, one in mod.functions_by_name.items()}
    )

    def construct() -> object:
        x, y = functions[0].params
        made: list[list[relay.Expr]] = []
        for program in programs:
            values: list[relay.Expr] = [x, y]
            for op, args in program:
                values.append(relay.Call(op, tuple([values[at] for at in args])))
            made.append(values)
        return made

    return {
        "construct": construct,
        "visit": lambda: [_Count().visit(one) for one in functions],
        "rewrite": lambda: [Swapper(PAIRS).visit(one) for one in functions],
        "infer types": lambda: relay.transform.InferType()(untyped),
        "encode": lambda: [
            adapter.encode_function(one, lambda _: None) for one in functions
        ],
        "decode": lambda: [adapter.decode_function(one, (), mod) for one in encoded],
    }


def _collecting(setting: Setting) -> Iterator[Line]:
    work = Work(setting.scaled(400, setting.workers), _NODES, light_passes)
    mod = work.module()
    with (
        tempfile.TemporaryDirectory() as folder,
        parpass.open_runner(workers=setting.workers) as runner,
        PassContext(config=USE_WORKERS),
    ):
        passes = Sequential([WatchCollector(folder), *work.passes()])
        runner.run_sync(mod, passes)
        end_watching = watch_collector(folder)
        before = collecting_seconds(folder)
        began = time.perf_counter()
        runner.run_sync(mod, passes)
        seconds = time.perf_counter() - began
        end_watching()
        after = collecting_seconds(folder)
    spent = {pid: after[pid] - before.get(pid, 0.0) for pid in after}
    here = spent.pop(os.getpid(), 0.0)
    what = f"eight light passes on {work.functions:,} functions of {_NODES} nodes"
    shares = {
        "coordinator": here / seconds,
        "workers": sum(spent.values()) / seconds / setting.workers,
    }
    for where, share in shares.items():
        compares = f"garbage collection in the {where} : parallel run"
        yield Line(what, compares, Figure(share * 100, unit="%"))


ROWS = (Row("node", _node),)
