"""Small work stays in this process: asking the workers would take longer.

How long a pass takes is known only when it runs, so a stage is begun here, function by
function. It goes on here until what is left would be done sooner, asking included, by
the workers; a function that alone may take that long is left to them as well. A module
that is worth a pool loses a few milliseconds, and a small one never pays for a pool.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from parpass.runtime.executor import Executor
from parpass.runtime.in_process import run_here, work_here
from parpass.runtime.retained import HeldModule, Retainer
from parpass.runtime.stage import FunctionOutcome
from parpass.transform import Pass, PassContext
from parpass.transform.apply import function_pass_body
from parpass.transform.collector import resting_collector
from parpass.transform.config import ASKING_WORKERS_SECONDS

_WARM_SECONDS = 0.004  # to publish a stage, send jobs and hear of them
_COLD_SECONDS = 0.3  # to start the processes, besides
_PACE = 2e-5  # seconds for a pass on a node, until it has been measured


def begin_here(
    steps: Sequence[Pass],
    mod: HeldModule,
    context: PassContext,
    executor: Executor,
    retainer: Retainer,
) -> dict[str, FunctionOutcome]:
    """Run a stage in this process while that is cheaper; return the outcomes by name.

    In each outcome `function` is a `Held`, as in those that come from workers.
    """
    asking = _asking_seconds(context, executor, len(mod.held))
    done: dict[str, FunctionOutcome] = {}
    if asking <= 0:
        return done
    work = work_here(steps, mod, context, retainer)
    pace, nodes, spent = _PACE * len(steps), 0, 0.0
    saved = 1 - 1 / executor.workers if executor.workers > 1 else 0.0
    with function_pass_body(), resting_collector():
        for name, held in mod.held.items():
            retainer.check_open()
            function = retainer.function(held, mod.base)
            limit = int(min(asking / pace, 1e9)) + 1
            size = retainer.adapter.size(function, limit)
            if size >= limit:
                break
            began = time.perf_counter()
            done[name] = run_here(work, name, held)
            spent += time.perf_counter() - began
            nodes += size
            pace = spent / nodes
            left = spent / len(done) * (len(mod.held) - len(done))
            if left * saved > asking:
                break
    return done


def _asking_seconds(context: PassContext, executor: Executor, functions: int) -> float:
    given: float | None = context.config.get(ASKING_WORKERS_SECONDS)
    if given is not None:
        return given
    if functions == 1:
        return float("inf")  # a single function cannot be shared out
    return _WARM_SECONDS if executor.is_warm else _COLD_SECONDS
