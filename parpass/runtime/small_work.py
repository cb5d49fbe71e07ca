"""A stage that is begun in this process, because nobody knows what its passes cost.

It is run here, function by function, until what is left would be done sooner, asking
included, by the workers; a function that alone may take that long is left to them as
well. A module that is worth a pool loses a few milliseconds, once, and a small one
never pays for a pool.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from parpass.runtime.costs import BY_NODE
from parpass.runtime.executor import Executor
from parpass.runtime.forecasts import Ledger, asking_seconds, gain_of
from parpass.runtime.in_process import run_here, work_here
from parpass.runtime.outcomes import StageOutcomes
from parpass.runtime.retained import HeldModule, Retainer
from parpass.transform import Pass, PassContext

_PACE = 2e-5  # seconds for a pass on a node, until it has been measured
_LARGE = 20_000  # nodes; where only larger functions matter, of so many one is counted:
_SAMPLED = 8
_LOOK_SECONDS = 0.0005  # of work between two looks whether the workers would be faster


def begin_here(
    steps: Sequence[Pass],
    mod: HeldModule,
    context: PassContext,
    executor: Executor,
    retainer: Retainer,
    ledger: Ledger,
    outcomes: StageOutcomes,
) -> bool:
    """Run a stage in this process while that is cheaper; return whether it is done."""
    asking = asking_seconds(context, executor, len(mod.held), ledger)
    gain = gain_of(executor)
    pace, nodes, size = _PACE * len(steps), 0, 0
    total, done = len(mod.held), 0
    spent, next_look = 0.0, 0.0
    with work_here(steps, mod, context, retainer) as work:
        for held in mod.held.values():
            retainer.check_open()
            if not outcomes.end.steps_on(done):
                run_here(work, done, held, outcomes)  # as far as a serial run comes
                done += 1
                continue
            function = retainer.function(held, mod.base)
            limit = int(min(asking / pace, 1e9)) + 1
            if limit < _LARGE or done % _SAMPLED == 0:
                size = retainer.adapter.size(function, limit)
                if size >= limit:
                    break
            began = time.perf_counter()
            run_here(work, done, held, outcomes)
            spent += time.perf_counter() - began
            done += 1
            nodes += 1 + size
            pace = spent / nodes
            if spent < next_look:
                continue
            next_look = spent + _LOOK_SECONDS
            left = (total - done) / done
            if left * gain.seconds(spent, nodes, done) > asking:
                break
    if done == total:
        ledger.forgo(gain.seconds(spent, nodes, done))
    if not any(outcome.ended_early for outcome in outcomes.told.values()):
        BY_NODE.learn(steps, outcomes.step_seconds, nodes)
    return done == total
