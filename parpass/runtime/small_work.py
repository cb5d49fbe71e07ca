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
from typing import Any

import msgspec

from parpass.runtime.costs import BY_NODE, Gain
from parpass.runtime.executor import Executor
from parpass.runtime.in_process import run_here, work_here
from parpass.runtime.outcomes import StageOutcomes
from parpass.runtime.report import Reason
from parpass.runtime.retained import Held, HeldModule, Retainer
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.apply import ends_the_stage
from parpass.transform.budget import Budget, are_limited
from parpass.transform.config import ASKING_WORKERS_SECONDS, CHECK_CONTRACT
from parpass.transform.optimizations import optimizations_in
from parpass.transform.plan import Outcome
from parpass.transform.reproducer import REPRODUCER

_WARM_SECONDS = 0.025  # to publish a stage, send jobs and hear of them, and to be sure
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


class Forecast(msgspec.Struct, frozen=True):
    """Where a stage is best run.

    Attributes:
        place: Where.
        seconds: What it would take in this process; 0 where that is not known.
        nodes: How many nodes its functions have, about; 0 where that is not known.
    """

    place: Place
    seconds: float = 0.0
    nodes: float = 0.0


_IN_THIS_PROCESS = Forecast(Place.HERE)
_IN_WORKERS = Forecast(Place.WORKERS)
_NOT_KNOWN = Forecast(Place.UNKNOWN)


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
    if functions and _must_be_outlived(budgets, context):
        return _IN_WORKERS
    optimizations = optimizations_in(context.config)
    asking = 0.0
    if optimizations.small_work:
        asking = _asking_seconds(context, executor, len(functions), ledger)
    if asking == math.inf or not functions:
        return _IN_THIS_PROCESS
    if asking <= 0:
        return _IN_WORKERS
    known = _forecast(steps, functions, adapter)
    if known is None or not optimizations.remembered_costs:
        return _NOT_KNOWN
    gain = 0.0  # less than the work, so where asking takes longer it does not matter
    if known.seconds > asking or not executor.is_warm:
        count = len(functions)
        gain = Gain(executor.workers).seconds(known.seconds, known.nodes, count)
    if gain > asking:
        return Forecast(Place.WORKERS, known.seconds, known.nodes)
    if known.nodes >= _MOST_NODES:
        return _NOT_KNOWN
    ledger.forgo(gain)
    return known


def forecast_of_small(
    steps: Sequence[Pass], functions: Mapping[str, Any], adapter: ModuleAdapter
) -> Forecast | None:
    """Return what a stage is forecast to take that no workers would do sooner.

    None if that is not known, or it may be worth asking them.
    """
    if len(functions) <= 1:
        return _IN_THIS_PROCESS
    known = _forecast(steps, functions, adapter)
    if known is None or known.seconds > _WARM_SECONDS or known.nodes >= _MOST_NODES:
        return None
    return known


def why_here(functions: int, workers: int) -> Reason:
    """Return why a small stage was run in this process."""
    if workers == 0:
        return Reason.NO_WORKERS
    if functions == 1:
        return Reason.ONE_FUNCTION
    return Reason.NO_WORKERS if workers == 1 else Reason.SMALL


def _forecast(
    steps: Sequence[Pass], functions: Mapping[str, Any], adapter: ModuleAdapter
) -> Forecast | None:
    pace = BY_NODE.of(steps)
    if pace is None:
        return None
    nodes = _size(functions, adapter)
    return Forecast(Place.HERE, pace * nodes, nodes)


def correct(
    forecast: Forecast,
    steps: Sequence[Pass],
    mod: Any,
    outcome: Outcome,
    adapter: ModuleAdapter,
) -> None:
    """Have a wrong forecast be learnt from, so that no unlucky moment is remembered.

    If a stage took much more or less in this process, all its nodes are counted: a
    forecast knows of a few functions. What passes took in the workers is most that they
    can take here; if those hardly saved anything, it is to be found out anew.
    """
    expected, records = forecast.seconds, outcome.records
    if not expected or len(records) < len(steps) or ends_the_stage(records[-1]):
        return
    seconds = [record.seconds for record in records]
    spent = sum(seconds)
    if forecast.place is Place.WORKERS:
        if spent < expected:  # passes take longer there, if anything
            BY_NODE.learn(steps, seconds, forecast.nodes)
        if outcome.ended - outcome.began > expected * _HARDLY_LESS:
            BY_NODE.forget(steps)
        return
    is_right = expected / _OFF < spent < expected * _OFF
    if not is_right and type(mod) is not HeldModule:
        functions = adapter.functions(mod).values()
        nodes = sum([adapter.size(one, _MOST_NODES) for one in functions])
        BY_NODE.learn(steps, seconds, nodes)


def _must_be_outlived(budgets: Sequence[Budget], context: PassContext) -> bool:
    """Return whether what passes may do must not end this process, or hold it up."""
    config = context.config
    is_hunted = config and (config.get(REPRODUCER) or config.get(CHECK_CONTRACT))
    return bool(is_hunted) or are_limited(budgets)


def _size(functions: Mapping[str, Any], adapter: ModuleAdapter) -> float:
    """Return how many nodes functions have, about."""
    held = list(functions.values())
    # Of two the first will do: workers would save no more than the lesser one takes.
    sample = held[:: max(2, -(-len(held) // _SAMPLE))]
    nodes = 0
    for one in sample:
        function = one.function if type(one) is Held else one
        if function is not None:
            nodes += adapter.size(function, _MOST_NODES)
        elif one.packed is not None:
            nodes += len(one.packed.payload) // _BYTES
    return nodes * len(held) / len(sample)


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
