"""Small work stays in this process: asking the workers would take longer.

What passes cost is remembered (`costs`). Where it tells that a module is worth asking,
or is not, nothing is tried. Otherwise a stage is begun here, function by function. It
goes on here until what is left would be done sooner, asking included, by the workers; a
function that alone may take that long is left to them as well. A module that is worth a
pool loses a few milliseconds, once, and a small one never pays for a pool.
"""

from __future__ import annotations

import enum
import math
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from parpass.runtime.costs import BY_NODE, Gain
from parpass.runtime.executor import Executor
from parpass.runtime.in_process import run_here, work_here
from parpass.runtime.outcomes import StageOutcomes
from parpass.runtime.retained import Held, HeldModule, Retainer
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.apply import ends_the_stage
from parpass.transform.budget import Budget, are_limited
from parpass.transform.config import ASKING_WORKERS_SECONDS, CHECK_CONTRACT
from parpass.transform.optimizations import optimizations_in
from parpass.transform.plan import Outcome
from parpass.transform.reproducer import REPRODUCER

_WARM_SECONDS = 0.02  # to publish a stage, send jobs and hear of them, and to be sure
_COLD_SECONDS = 0.3  # to start the processes, besides
_PACE = 2e-5  # seconds for a pass on a node, until it has been measured
_LARGE = 20_000  # nodes; where only larger functions matter, of so many one is counted:
_SAMPLED = 8
_LOOK_SECONDS = 0.0005  # of work between two looks whether the workers would be faster
_MOST_NODES = 5_000  # done here on the strength of a forecast alone
_SAMPLE = 2  # functions that are counted to tell the size of all
_OFF = 1.5  # times as long, or as short, as was forecast, to be learnt from
_HARDLY_LESS = 0.75  # of the forecast, so that the workers were not worth asking
_BYTES = 20  # of a node that is packed, about


class Place(enum.Enum):
    """Where a stage is best run, as far as can be told before it is begun."""

    HERE = "in this process"
    WORKERS = "in the workers"
    UNKNOWN = "to be found out"


class Forecast(NamedTuple):
    """Where a stage is best run, and the seconds that it would take in this process.

    The seconds are None where they were not asked for, or are not known.
    """

    place: Place
    seconds: float | None = None


class Ledger:
    """What a runner has lost by not having started its workers.

    Starting them is not worth it for one small module; for the hundredth it is. When
    as much has been lost as the start costs, they are started ("ski rental").

    Attributes:
        forgone: Seconds that the workers would have saved.
    """

    def __init__(self) -> None:
        self.forgone = 0.0

    def forgo(self, seconds: float) -> None:
        """Add what the workers would have saved on a stage."""
        self.forgone += max(0.0, seconds)


def best_place(
    steps: Sequence[Pass],
    budgets: Sequence[Budget],
    functions: Mapping[str, Any],
    context: PassContext,
    executor: Executor,
    adapter: ModuleAdapter,
    ledger: Ledger,
) -> Forecast:
    """Tell from what passes have cost before where to run a stage.

    Functions are held or not; a few of them tell the size of all.
    """
    optimizations = optimizations_in(context.config)
    asking = 0.0
    if optimizations.small_work:
        asking = _asking_seconds(context, executor, len(functions), ledger)
    if functions and _must_be_outlived(budgets, context):
        return Forecast(Place.WORKERS)
    if asking == math.inf or not functions:
        return Forecast(Place.HERE)
    if asking <= 0:
        return Forecast(Place.WORKERS)
    pace = BY_NODE.of(steps) if optimizations.remembered_costs else None
    if pace is None:
        return Forecast(Place.UNKNOWN)
    nodes = _size(functions, adapter)
    seconds = pace * nodes
    gain = Gain(executor.workers).seconds(seconds, nodes, len(functions))
    if gain > asking:
        return Forecast(Place.WORKERS, seconds)
    if nodes >= _MOST_NODES:
        return Forecast(Place.UNKNOWN)
    if gain > 0:
        ledger.forgo(gain)
    return Forecast(Place.HERE, seconds)


def correct(
    forecast: Forecast,
    steps: Sequence[Pass],
    mod: Any,
    outcome: Outcome,
    adapter: ModuleAdapter,
) -> None:
    """Have a wrong forecast be learnt from, so that no unlucky moment is remembered.

    If a stage took much more or less in this process, all its nodes are counted: a
    forecast knows of a few functions. If the workers hardly saved anything, what passes
    cost is to be found out anew.
    """
    expected, records = forecast.seconds, outcome.records
    if expected is None or len(records) < len(steps) or ends_the_stage(records[-1]):
        return
    if forecast.place is Place.WORKERS:
        if outcome.ended - outcome.began > expected * _HARDLY_LESS:
            BY_NODE.forget(steps)
        return
    seconds = [record.seconds for record in records]
    is_right = expected / _OFF < sum(seconds) < expected * _OFF
    if not is_right and type(mod) is not HeldModule:
        functions = adapter.functions(mod).values()
        nodes = sum([adapter.size(one, _MOST_NODES) for one in functions])
        BY_NODE.learn(steps, seconds, nodes)


def _must_be_outlived(budgets: Sequence[Budget], context: PassContext) -> bool:
    """Return whether what passes may do must not end this process, or hold it up."""
    config = context.config
    is_hunted = bool(config.get(REPRODUCER) or config.get(CHECK_CONTRACT))
    return is_hunted or are_limited(budgets)


def _size(functions: Mapping[str, Any], adapter: ModuleAdapter) -> float:
    """Return how many nodes functions have, about."""
    nodes = counted = 0
    step = -(-len(functions) // _SAMPLE)
    for one in islice(functions.values(), 0, None, step):
        counted += 1
        function = one.function if type(one) is Held else one
        if function is not None:
            nodes += adapter.size(function, _MOST_NODES)
        elif one.packed is not None:
            nodes += len(one.packed.payload) // _BYTES
    return nodes * len(functions) / counted


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
    asking = _asking_seconds(context, executor, len(mod.held), ledger)
    gain = Gain(executor.workers)
    pace, nodes, size = _PACE * len(steps), 0, 0
    total, done = len(mod.held), 0
    spent, next_look = 0.0, 0.0
    with work_here(steps, mod, context, retainer) as work:
        for held in mod.held.values():
            retainer.check_open()
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
            nodes += max(1, size)
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


def _asking_seconds(
    context: PassContext, executor: Executor, functions: int, ledger: Ledger
) -> float:
    given: float | None = context.config.get(ASKING_WORKERS_SECONDS)
    if given is not None:
        return given
    if functions <= 1 or executor.workers <= 1:
        return math.inf  # nothing can be shared out
    if executor.is_warm:
        return _WARM_SECONDS
    return max(_WARM_SECONDS, _COLD_SECONDS - ledger.forgone)
