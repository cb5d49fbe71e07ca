"""What reports claim of a gain, held against a stopwatch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench.work import generated_function
from parpass import IRModule, PassContext, Sequential, relay
from parpass.runner import Runner, open_runner
from parpass.transform import FunctionPass, Pass, PassInfo
from tests.stress.test_stress import times
from tests.support.runner.pooled import POOLED

pytestmark = pytest.mark.stress

Report = Callable[[str, str], None]
Work = tuple[IRModule, list[Pass]]

NOISE = (
    1.3  # times as much as the stopwatch says may be claimed, where others are at work
)
OURS = {"parpass.asking_workers_seconds": 1e9}  # nothing goes to the workers


class Burn(FunctionPass):
    """Takes some milliseconds of a processor."""

    pass_info = PassInfo(0, "Burn")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        until = time.thread_time() + 0.005
        while time.thread_time() < until:
            pass
        return func


class Stream(FunctionPass):
    """Goes through 24 MB: bound by memory, of which two cores have no more than one."""

    pass_info = PassInfo(0, "Stream")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        values = np.ones(1_000_000)
        np.add(values, values, out=values.copy())
        return func


class Retype(FunctionPass):
    """Changes the types of some functions, so that those that call them run again."""

    pass_info = PassInfo(0, "Retype")

    def transform_function(
        self, func: relay.Function, mod: IRModule, ctx: PassContext
    ) -> relay.Function:
        if ctx.function_name not in ("f0", "f1"):
            return func
        return relay.Function(func.params, relay.reshape(func.body, (4, 16)))


def typed(functions: int, nodes: int) -> IRModule:
    made = {f"f{at}": generated_function(at, nodes) for at in range(functions)}
    return relay.transform.InferType()(IRModule(made))


def calling(functions: int) -> IRModule:
    """Return a module in which each function calls one of the first ten."""
    mod, x = IRModule(), relay.var("x", shape=(8, 8))
    for at in range(10):
        mod[f"f{at}"] = relay.Function((x,), relay.nn.relu(x))
    for at in range(10, functions):
        body = relay.reshape(
            relay.Call(mod.get_global_var(f"f{at % 10}"), (x,)), (8, 8)
        )
        for _ in range(10):
            body = relay.nn.relu(relay.add(body, x))
        mod[f"f{at}"] = relay.Function((x,), body)
    return relay.transform.InferType()(mod)


def light() -> list[Pass]:
    transform = relay.transform
    return [transform.EliminateCommonSubexpr(), transform.DeadCodeElimination()]


WORK: dict[str, Callable[[], Work]] = {
    "light passes on 1,000 small functions": lambda: (typed(1000, 10), light()),
    "light passes on 100 functions of 300 nodes": lambda: (typed(100, 300), light()),
    "light passes on 6 functions of 5,000 nodes": lambda: (typed(6, 5000), light()),
    "5 ms on 100 functions": lambda: (typed(100, 10), [Burn()]),
    "passes bound by memory": lambda: (typed(40, 10), [Stream()]),
    "types that change": lambda: (calling(600), [Retype(), *light()]),
}


@pytest.mark.parametrize("what", WORK)
def test_no_more_is_claimed_than_the_stopwatch_says(what: str, report: Report):
    mod, passes = WORK[what]()
    root, gains, claims, cores = Sequential(passes), list[float](), list[float](), [0.0]
    with open_runner(workers=2) as runner:
        for _ in range(2):  # what passes cost here becomes known, and workers start
            run(runner, root, mod, OURS)
            run(runner, root, mod, POOLED)
        for _ in range(times(5)):
            before = run(None, root, mod, OURS)
            parallel = run(runner, root, mod, POOLED)
            after = run(None, root, mod, OURS)
            told = runner.last_report
            assert told is not None
            assert told.speedup is not None
            gains.append((before + after) / 2 / parallel)
            claims.append(told.speedup)
            cores.append(told.cores)
    gain, claim = statistics.median(gains), statistics.median(claims)
    report(
        f"what a report claims: {what}",
        f"{claim:.2f} x; by the stopwatch {gain:.2f} x; {max(cores):.1f} cores at best",
    )
    assert claim < NOISE * gain


def run(
    runner: Runner | None, root: Pass, mod: IRModule, config: dict[str, Any]
) -> float:
    """Run passes, serially or by a runner; return the seconds."""
    with PassContext(opt_level=3, config=config):
        began = time.perf_counter()
        kept = root(mod) if runner is None else runner.run_sync(mod, root)
        spent = time.perf_counter() - began
    del kept
    return spent
