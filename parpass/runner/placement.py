"""Placement: in which process a stage runs, by what its passes have cost before.

An estimate may be wrong, and the cost model (`cost_model`) is corrected then; the
result of a stage never depends on it.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from parpass.runner.cores import usable_cores
from parpass.runner.cost_model import BYTES_PER_NODE, COST_MODEL, SLOWDOWN, SpeedupModel
from parpass.runner.executor import Executor
from parpass.runner.ipc.module_store import FunctionHandle, StoredModule
from parpass.runner.observers import LocalReason
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.budget import Budget, any_limited
from parpass.transform.config import (
    ASKING_WORKERS_SECONDS,
    CHECK_CONTRACT,
    optimizations_in,
)
from parpass.transform.debug.reproducer import REPRODUCER
from parpass.transform.plan.commands import StageResult
from parpass.transform.plan.serial import ends_stage

# Seconds to publish a stage, send jobs and receive results, and a margin.
_WARM_OVERHEAD_SECONDS = 0.025
_START_UP_SECONDS = 0.5  # seconds to start the processes, and for them to load, besides
_MAX_UNPROBED_NODES = 50_000  # nodes that run in this process by an estimate, unprobed
_MAX_COUNTED_NODES = 5_000  # nodes of a single function that are counted
_SAMPLE_SIZE = 64  # functions whose nodes are counted, about, to estimate those of all
_NEGLIGIBLE_NODES = 100  # nodes of two functions that are not worth workers
_SAMPLE_IF_LARGE = 8  # functions, if they are large
_CLEAR_MARGIN = 4.0  # times as much work as was counted may be there at the most
_TOLERANCE = 1.5  # times as long, or as short, as was estimated, to be learnt from

_cores = functools.cache(usable_cores)


class Placement(enum.Enum):
    """The process in which a stage runs best, as estimated before it begins."""

    LOCAL = "in this process"
    REMOTE = "in the workers"
    PROBE = "to be found out"


class PlacementEstimate(msgspec.Struct, frozen=True):
    """The estimate for a stage.

    Attributes:
        place: The process in which it runs best.
        seconds: The time in this process; 0 if not known.
        nodes: The nodes of its functions, about.
        longest: The time of the largest function, of those that were counted.
        expected: The time in the workers.
    """

    place: Placement
    seconds: float = 0.0
    nodes: float = 0.0
    longest: float = 0.0
    expected: float = 0.0


_LOCAL = PlacementEstimate(Placement.LOCAL)
_REMOTE = PlacementEstimate(Placement.REMOTE)
_UNKNOWN = PlacementEstimate(Placement.PROBE)


class StartupAmortizer:
    """Accumulates the time that workers would have saved; the ski-rental rule.

    Starting them is not worth it for one small module; for the hundredth it is. When
    as much has been lost as the start costs, they are started.

    Attributes:
        missed_saving: Seconds that the workers would have saved, had they been started.
    """

    def __init__(self) -> None:
        self.missed_saving = 0.0

    def add_missed_saving(self, seconds: float) -> None:
        """Add what the workers would have saved on a stage, less the overhead."""
        self.missed_saving += max(0.0, seconds - _WARM_OVERHEAD_SECONDS)


class PlacementPolicy:
    """Chooses, for each stage of a run, the process in which it runs.

    Args:
        executor: The workers.
        adapter: Counts the nodes of functions.
        context: The settings in force.
        amortizer: What the runner has lost by not having started its workers.
        isolated: Whether every function pass runs in a worker.

    Attributes:
        executor: The workers.
    """

    def __init__(
        self,
        executor: Executor,
        adapter: ModuleAdapter,
        context: PassContext,
        amortizer: StartupAmortizer,
        *,
        isolated: bool = False,
    ) -> None:
        self.executor = executor
        self._adapter = adapter
        self._context = context
        self._amortizer = amortizer
        self._isolated = isolated

    def choose(
        self,
        steps: Sequence[Pass],
        budgets: Sequence[Budget],
        functions: Mapping[str, Any],
    ) -> PlacementEstimate:
        """Return where to run a stage.

        Args:
            steps: The passes.
            budgets: The limits of each.
            functions: The functions by name, as objects or as handles of the store.
        """
        config = self._context.config
        # What passes may do must not end this process, or hold it up.
        is_hunted = config and (config.get(REPRODUCER) or config.get(CHECK_CONTRACT))
        if functions and (self._isolated or is_hunted or any_limited(budgets)):
            return _REMOTE
        least = 0.0
        if optimizations_in(config).local_small_stages:
            least = warm_dispatch_overhead(self._context, self.executor, len(functions))
        if least == math.inf or not functions:
            return _LOCAL
        if least <= 0:
            return _REMOTE
        known = self._estimate(steps, functions)
        if known is None:
            return _UNKNOWN
        follows = costs_follow_sizes(steps)
        if follows and known.place is Placement.LOCAL and _is_negligible(known, least):
            SLOWDOWN.decay()
            return known
        overhead = self.dispatch_overhead(len(functions))
        if follows:
            return self._place_by_estimate(known, len(functions), overhead)
        return self._place_by_lower_bound(known, len(functions), overhead)

    def dispatch_overhead(self, functions: int) -> float:
        """Return the seconds that workers must save on a stage to be worth it."""
        least = warm_dispatch_overhead(self._context, self.executor, functions)
        is_given = self._context.config.get(ASKING_WORKERS_SECONDS) is not None
        if is_given or self.executor.is_warm:
            return least
        return max(least, _START_UP_SECONDS - self._amortizer.missed_saving)

    def speedup(self) -> SpeedupModel:
        """Return the model of what the workers save."""
        return SpeedupModel(self.executor.workers, _cores())

    def local_reason(self, functions: int) -> LocalReason:
        """Return why a stage that is not worth workers runs in this process."""
        workers = self.executor.workers
        if workers == 0:
            return LocalReason.NO_WORKERS
        if functions == 1:
            return LocalReason.ONE_FUNCTION
        return LocalReason.NO_WORKERS if workers == 1 else LocalReason.SMALL

    def local_seconds(
        self, steps: Sequence[Pass], functions: Mapping[str, Any]
    ) -> float | None:
        """Return the estimated seconds of a stage in this process, None if unknown.

        Only measurements made in this process count.
        """
        if COST_MODEL.local_pace(steps) is None or not costs_follow_sizes(steps):
            return None
        known = self._estimate(steps, functions)
        return None if known is None else known.seconds

    def update(
        self,
        estimate: PlacementEstimate,
        steps: Sequence[Pass],
        mod: Any,
        outcome: StageResult,
    ) -> None:
        """Correct the cost model after a stage, where the estimate was far off.

        All nodes are counted then, as an estimate may rest on a few functions. Passes
        do not take less in workers than here; by how much longer they took than
        expected holds for other passes, too.

        Args:
            estimate: The estimate before the stage.
            steps: The passes.
            mod: The module that they ran on.
            outcome: What they gave, and took.
        """
        expected, records = estimate.seconds, outcome.records
        spent = outcome.ended - outcome.began
        in_workers = estimate.place is Placement.REMOTE
        if not in_workers and expected / _TOLERANCE < spent < expected * _TOLERANCE:
            return
        if len(records) < len(steps) or ends_stage(records[-1]):
            return
        seconds = [record.seconds for record in records]
        if not in_workers or sum(seconds) < expected / _TOLERANCE:
            COST_MODEL.update(steps, seconds, _total_nodes(mod, self._adapter))
        if in_workers:
            SLOWDOWN.update(estimate.expected, spent)

    def update_from_probe(
        self, steps: Sequence[Pass], seconds: float, nodes: int, functions: int
    ) -> None:
        """Learn from a probe that came to the end of the module, in this process.

        Args:
            steps: The pass that was probed.
            seconds: What it took.
            nodes: The nodes of the functions.
            functions: How many there are.
        """
        COST_MODEL.update(steps, [seconds], nodes)
        self.add_missed_saving(seconds, nodes, functions)

    def add_missed_saving(self, seconds: float, nodes: int, functions: int) -> None:
        """Count what workers would have saved on a stage that took so long here."""
        saving = self.speedup().seconds(seconds, nodes, functions)
        self._amortizer.add_missed_saving(saving)

    def update_from_remainder(
        self, steps: Sequence[Pass], functions: Mapping[str, Any], spent: float
    ) -> None:
        """Learn from a stage that was probed here, and on whose rest workers lost.

        Args:
            steps: The passes.
            functions: The functions that the workers were given.
            spent: The seconds that they took, without those for starting them.
        """
        known = self._estimate(steps, functions)
        if known is not None:
            work = known.seconds, known.nodes, len(functions)
            SLOWDOWN.update(self.speedup().expected(*work), spent)

    def _estimate(
        self, steps: Sequence[Pass], functions: Mapping[str, Any]
    ) -> PlacementEstimate | None:
        pace = COST_MODEL.of(steps)
        if pace is None:
            return None
        nodes, largest = _estimate_size(functions, self._adapter)
        is_certain = largest < _MAX_COUNTED_NODES and nodes < _MAX_UNPROBED_NODES
        place = Placement.LOCAL if is_certain else Placement.PROBE
        return PlacementEstimate(place, pace * nodes, nodes, pace * largest)

    def _place_by_lower_bound(
        self, known: PlacementEstimate, functions: int, overhead: float
    ) -> PlacementEstimate:
        """Choose for passes whose cost does not follow the size of functions.

        The cost model has the least that they took for a node, so that a stage is
        small is never known: it is probed each time.
        """
        work = known.seconds, known.nodes, functions
        saved = known.seconds - self.speedup().expected(*work)
        return _REMOTE if saved > overhead else _UNKNOWN

    def _place_by_estimate(
        self, known: PlacementEstimate, functions: int, overhead: float
    ) -> PlacementEstimate:
        """Choose where the estimated seconds can be relied on."""
        gain, work = self.speedup(), (known.seconds, known.nodes, functions)
        saved = min(gain.seconds(*work), known.seconds - known.longest)
        if saved > overhead:
            start = 0.0 if self.executor.is_warm else _START_UP_SECONDS
            expected = start + gain.expected(*work)
            return PlacementEstimate(Placement.REMOTE, *work[:2], expected=expected)
        is_probed = known.place is Placement.PROBE
        if is_probed and not _is_clearly_local(gain, work, overhead):
            return _UNKNOWN
        SLOWDOWN.decay()
        self._amortizer.add_missed_saving(saved)
        return msgspec.structs.replace(known, place=Placement.LOCAL)


def costs_follow_sizes(steps: Sequence[Pass]) -> bool:
    """Return whether the cost of passes is proportional to the nodes of functions."""
    return all(step.cost_follows_size for step in steps)


def warm_dispatch_overhead(
    context: PassContext, executor: Executor, functions: int
) -> float:
    """Return `PlacementPolicy.dispatch_overhead` for workers that have been started."""
    given: float | None = context.config.get(ASKING_WORKERS_SECONDS)
    if given is not None:
        return given
    # Of one function nothing can be shared out.
    is_alone = functions <= 1 or executor.workers <= 1
    return math.inf if is_alone else _WARM_OVERHEAD_SECONDS


def _is_negligible(known: PlacementEstimate, overhead: float) -> bool:
    """Return whether a stage is too small for workers, however fast these are.

    On a small stage everything else that would be computed is a good part of its time.
    """
    return known.seconds - known.longest <= min(overhead, _WARM_OVERHEAD_SECONDS)


def _is_clearly_local(
    gain: SpeedupModel, work: tuple[float, float, int], overhead: float
) -> bool:
    """Return whether workers would lose even on several times the estimated work."""
    seconds, nodes, functions = work
    return gain.seconds(_CLEAR_MARGIN * seconds, nodes, functions) < overhead


def _estimate_size(
    functions: Mapping[str, Any], adapter: ModuleAdapter
) -> tuple[float, int]:
    """Return how many nodes functions have, about, and the largest that was counted."""
    count, seen = len(functions), functions.values()
    if count > _SAMPLE_IF_LARGE:
        seen = _sample(functions, adapter)
    nodes = largest = 0
    for one in seen:
        size = _node_count(one, adapter, _MAX_COUNTED_NODES)
        nodes += size + 1  # an adapter may not know
        if size > largest:
            largest = size
        if count == 2 and nodes <= _NEGLIGIBLE_NODES:
            return 2.0 * nodes, size  # workers would save no more than this one takes
    return nodes * count / len(seen), largest


def _sample(functions: Mapping[str, Any], adapter: ModuleAdapter) -> list[Any]:
    """Return functions that tell the size of all, a few of them if they are large."""
    few = _stride_sample(functions, _SAMPLE_IF_LARGE)
    nodes = sum(_node_count(one, adapter, _MAX_COUNTED_NODES) for one in few)
    # To count a node takes up to a tenth of what a pass takes on it.
    if nodes >= _MAX_COUNTED_NODES:
        return few
    enough = 2 * _MAX_COUNTED_NODES * len(few) // max(1, nodes)
    return _stride_sample(functions, min(_SAMPLE_SIZE, enough))


def _stride_sample(functions: Mapping[str, Any], most: int) -> list[Any]:
    # An odd step, so that of functions that come in pairs both kinds are seen.
    return list(islice(functions.values(), 0, None, len(functions) // most | 1))


def _total_nodes(mod: Any, adapter: ModuleAdapter) -> int:
    """Return how many nodes the functions of a module have, which may be held."""
    held = mod.handles if type(mod) is StoredModule else adapter.functions(mod)
    found = [_node_count(one, adapter, 1 << 60) for one in held.values()]
    return sum(found) + len(found)


def _node_count(one: Any, adapter: ModuleAdapter, limit: int) -> int:
    """Return how many nodes a function has, which may be held, and packed."""
    if type(one) is not FunctionHandle:
        return adapter.size(one, limit)
    if one.function is not None:
        return adapter.size(one.function, limit)
    return 0 if one.encoded is None else one.encoded.size // BYTES_PER_NODE
