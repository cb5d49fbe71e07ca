"""Where a stage is best run, as far as what passes have cost before (`costs`) tells.

A forecast may be wrong, and is learnt from then; what is run never depends on it.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from parpass.runner.executor import Executor
from parpass.runner.placing.cores import usable_cores
from parpass.runner.placing.costs import BYTES_OF_NODE, COSTS, DELIVERED, Gain
from parpass.runner.report.figures import Reason
from parpass.runner.travel.retained import Held, HeldModule
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.budget import Budget, are_limited
from parpass.transform.config import ASKING_WORKERS_SECONDS, CHECK_CONTRACT
from parpass.transform.debug.reproducer import REPRODUCER
from parpass.transform.optimizations import optimizations_in
from parpass.transform.plan.commands import StageResult
from parpass.transform.plan.steps import ends_the_stage

_WARM_SECONDS = 0.025  # to publish a stage, send jobs and hear of them, and to be sure
_COLD_SECONDS = 0.3  # to start the processes, besides
# Done in this process on the strength of a forecast alone, which is learnt from if it
# is wrong; and of a single function, which is not counted further.
_MOST_NODES = 50_000
_MOST_OF_ONE = 5_000
_SAMPLE = 64  # functions that are counted, about, to tell the size of all
_LITTLE = 100  # nodes
_ENOUGH = 8  # where they are large
_FAR = 4.0  # times as much work as was counted may be there at the most
_OFF = 1.5  # times as long, or as short, as was forecast, to be learnt from


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
        nodes: How many nodes its functions have, about.
        longest: What the largest function would take, of those that were counted.
        expected: What it would take in the workers, if these keep to what is expected.
    """

    place: Place
    seconds: float = 0.0
    nodes: float = 0.0
    longest: float = 0.0
    expected: float = 0.0


_cores = functools.cache(usable_cores)
_IN_THIS_PROCESS = Forecast(Place.HERE)
_IN_WORKERS = Forecast(Place.WORKERS)
_NOT_KNOWN = Forecast(Place.UNKNOWN)


class Ledger:
    """What a runner has lost by not having started its workers.

    Starting them is not worth it for one small module; for the hundredth it is. When
    as much has been lost as the start costs, they are started ("ski rental").

    Attributes:
        forgone: Seconds that the workers would have saved, had they been started.
    """

    def __init__(self) -> None:
        self.forgone = 0.0

    def forgo(self, seconds: float) -> None:
        """Add what the workers would have saved on a stage, less the asking."""
        self.forgone += max(0.0, seconds - _WARM_SECONDS)


def best_place(
    steps: Sequence[Pass],
    budgets: Sequence[Budget],
    functions: Mapping[str, Any],
    context: PassContext,
    executor: Executor,
    adapter: ModuleAdapter,
    ledger: Ledger,
    *,
    isolated: bool = False,
) -> Forecast:
    """Tell where to run a stage; functions are held or not."""
    if functions and isolated:
        return _IN_WORKERS
    if functions and _must_be_outlived(budgets, context):
        return _IN_WORKERS
    least = 0.0
    if optimizations_in(context.config).small_work:
        least = least_asking_seconds(context, executor, len(functions))
    if least == math.inf or not functions:
        return _IN_THIS_PROCESS
    if least <= 0:
        return _IN_WORKERS
    known = _forecast(steps, functions, adapter)
    if known is None:
        return _NOT_KNOWN
    follows = costs_follow_sizes(steps)
    if follows and known.place is Place.HERE and _is_little(known, least):
        DELIVERED.forget_a_little()
        return known
    asking = asking_seconds(context, executor, len(functions), ledger)
    if follows:
        return _weighed(known, len(functions), executor, asking, ledger)
    return _trusted(known, len(functions), executor, asking)


def _is_little(known: Forecast, asking: float) -> bool:
    """Return whether a stage is not worth asking workers, whatever these deliver.

    Of little work all that is found out about it would be a good part.
    """
    return known.seconds - known.longest <= min(asking, _WARM_SECONDS)


def costs_follow_sizes(steps: Sequence[Pass]) -> bool:
    """Return whether what a stage takes is told by sizes, and may be learnt from."""
    return all(step.cost_follows_size for step in steps)


def _trusted(
    known: Forecast, functions: int, executor: Executor, asking: float
) -> Forecast:
    """Tell where to run a stage of whose cost too little is known to learn of it.

    What is known is the least that it took for a node (`Costs.learn`), so that it is
    little is never known: that is found out each time.
    """
    work = known.seconds, known.nodes, functions
    saved = known.seconds - gain_of(executor).expected(*work)
    return _IN_WORKERS if saved > asking else _NOT_KNOWN


def _weighed(
    known: Forecast, functions: int, executor: Executor, asking: float, ledger: Ledger
) -> Forecast:
    """Tell where to run a stage of which it is known what it takes here."""
    gain, work = gain_of(executor), (known.seconds, known.nodes, functions)
    saved = min(gain.seconds(*work), known.seconds - known.longest)
    if saved > asking:
        start = 0.0 if executor.is_warm else _COLD_SECONDS
        expected = start + gain.expected(*work)
        return Forecast(Place.WORKERS, *work[:2], expected=expected)
    if known.place is Place.UNKNOWN and not _is_far_from_worth(gain, work, asking):
        return _NOT_KNOWN
    DELIVERED.forget_a_little()
    ledger.forgo(saved)
    return msgspec.structs.replace(known, place=Place.HERE)


def _is_far_from_worth(
    gain: Gain, work: tuple[float, float, int], asking: float
) -> bool:
    """Return whether workers would lose even on much more work than is known of."""
    seconds, nodes, functions = work
    return gain.seconds(_FAR * seconds, nodes, functions) < asking


def seconds_here(
    steps: Sequence[Pass], functions: Mapping[str, Any], adapter: ModuleAdapter
) -> float | None:
    """Return what a stage takes in this process, by what was measured there."""
    if COSTS.of_here(steps) is None or not costs_follow_sizes(steps):
        return None
    known = _forecast(steps, functions, adapter)
    return None if known is None else known.seconds


def learn_of_the_rest(
    steps: Sequence[Pass],
    functions: Mapping[str, Any],
    executor: Executor,
    adapter: ModuleAdapter,
    spent: float,
) -> None:
    """Learn from a stage that was begun here, and on the rest of which workers lost.

    Args:
        steps: The passes.
        functions: Those that workers were given.
        executor: The workers.
        adapter: How modules are handled.
        spent: Seconds that they took, without those for starting them.
    """
    known = _forecast(steps, functions, adapter)
    if known is not None:
        work = known.seconds, known.nodes, len(functions)
        DELIVERED.learn(gain_of(executor).expected(*work), spent)


def correct(
    forecast: Forecast,
    steps: Sequence[Pass],
    mod: Any,
    outcome: StageResult,
    adapter: ModuleAdapter,
) -> None:
    """Have a forecast that was wrong be learnt from, lest an unlucky moment last.

    If a stage took much more or less than was forecast, all its nodes are counted: a
    forecast may know of a few functions. In the workers passes do not take less than
    here; how much longer than expected they took is true for other passes as well.
    """
    expected, records = forecast.seconds, outcome.records
    spent = outcome.ended - outcome.began
    in_workers = forecast.place is Place.WORKERS
    if not in_workers and expected / _OFF < spent < expected * _OFF:
        return
    if len(records) < len(steps) or ends_the_stage(records[-1]):
        return
    seconds = [record.seconds for record in records]
    if not in_workers or sum(seconds) < expected / _OFF:
        COSTS.learn(steps, seconds, _all_nodes(mod, adapter))
    if in_workers:
        DELIVERED.learn(forecast.expected, spent)


def asking_seconds(
    context: PassContext, executor: Executor, functions: int, ledger: Ledger
) -> float:
    """Return how much workers must save on so many functions to be asked."""
    least = least_asking_seconds(context, executor, functions)
    is_given = context.config.get(ASKING_WORKERS_SECONDS) is not None
    if is_given or executor.is_warm:
        return least
    return max(least, _COLD_SECONDS - ledger.forgone)


def least_asking_seconds(
    context: PassContext, executor: Executor, functions: int
) -> float:
    """Return the same for workers that have been started."""
    given: float | None = context.config.get(ASKING_WORKERS_SECONDS)
    if given is not None:
        return given
    # Of one function nothing can be shared out.
    return math.inf if functions <= 1 or executor.workers <= 1 else _WARM_SECONDS


def gain_of(executor: Executor) -> Gain:
    """Return what the workers of an executor would save."""
    return Gain(executor.workers, _cores())


def why_here(functions: int, workers: int) -> Reason:
    """Return why a small stage was run in this process."""
    if workers == 0:
        return Reason.NO_WORKERS
    if functions == 1:
        return Reason.ONE_FUNCTION
    return Reason.NO_WORKERS if workers == 1 else Reason.SMALL


def _must_be_outlived(budgets: Sequence[Budget], context: PassContext) -> bool:
    """Return whether what passes may do must not end this process, or hold it up."""
    config = context.config
    is_hunted = config and (config.get(REPRODUCER) or config.get(CHECK_CONTRACT))
    return bool(is_hunted) or are_limited(budgets)


def _forecast(
    steps: Sequence[Pass], functions: Mapping[str, Any], adapter: ModuleAdapter
) -> Forecast | None:
    pace = COSTS.of(steps)
    if pace is None:
        return None
    nodes, largest = _size(functions, adapter)
    is_certain = largest < _MOST_OF_ONE and nodes < _MOST_NODES
    place = Place.HERE if is_certain else Place.UNKNOWN
    return Forecast(place, pace * nodes, nodes, pace * largest)


def _size(functions: Mapping[str, Any], adapter: ModuleAdapter) -> tuple[float, int]:
    """Return how many nodes functions have, about, and the largest that was counted."""
    count, seen = len(functions), functions.values()
    if count > _ENOUGH:
        seen = _sample(functions, adapter)
    nodes = largest = 0
    for one in seen:
        size = _nodes(one, adapter, _MOST_OF_ONE)
        nodes += size + 1  # an adapter may not know
        if size > largest:
            largest = size
        if count == 2 and nodes <= _LITTLE:
            return 2.0 * nodes, size  # workers would save no more than this one takes
    return nodes * count / len(seen), largest


def _sample(functions: Mapping[str, Any], adapter: ModuleAdapter) -> list[Any]:
    """Return functions that tell the size of all, a few of them if they are large."""
    few = _spread(functions, _ENOUGH)
    nodes = sum(_nodes(one, adapter, _MOST_OF_ONE) for one in few)
    # To count many large ones takes a tenth of what a pass takes.
    return few if nodes >= _MOST_OF_ONE else _spread(functions, _SAMPLE)


def _spread(functions: Mapping[str, Any], most: int) -> list[Any]:
    # An odd step, so that of functions that come in pairs both kinds are seen.
    return list(islice(functions.values(), 0, None, len(functions) // most | 1))


def _all_nodes(mod: Any, adapter: ModuleAdapter) -> int:
    """Return how many nodes the functions of a module have, which may be held."""
    held = mod.held if type(mod) is HeldModule else adapter.functions(mod)
    found = [_nodes(one, adapter, 1 << 60) for one in held.values()]
    return sum(found) + len(found)


def _nodes(one: Any, adapter: ModuleAdapter, limit: int) -> int:
    """Return how many nodes a function has, which may be held, and packed."""
    if type(one) is not Held:
        return adapter.size(one, limit)
    if one.function is not None:
        return adapter.size(one.function, limit)
    return 0 if one.packed is None else one.packed.size // BYTES_OF_NODE
