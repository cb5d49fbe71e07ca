"""Placement: in which process a stage runs, by what its passes have cost before.

An estimate may be wrong, and the cost model (`cost_model`) is corrected then; the
result of a stage never depends on it.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from parpass.errors import BudgetWarning
from parpass.errors.warning import warn
from parpass.runner.cores import usable_cores
from parpass.runner.cost_model import (
    COST_MODEL,
    SLOWDOWN,
    WARM_OVERHEAD_SECONDS,
    SpeedupModel,
    StartupAmortizer,
)
from parpass.runner.estimates import Estimate, estimate, total_nodes
from parpass.runner.executor import DEFAULT_START_SECONDS, Executor
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.budget import Budget, any_limited
from parpass.transform.config import (
    ASKING_WORKERS_SECONDS,
    CHECK_CONTRACT,
    START_TIMEOUT,
    optimizations_in,
)
from parpass.transform.debug.reproducer import REPRODUCER
from parpass.transform.passes import declared_where
from parpass.transform.plan.commands import StageResult
from parpass.transform.plan.serial import ends_stage

# Seconds that the workers must save on the rest to get it when the first one is ready:
# the others have yet to start, and this process to import the coordinator.
_OFFLOAD_SECONDS = 0.2
_START_UP_SECONDS = 0.5  # seconds to start the processes, and for them to load, besides
# Passes that go together at most: a pass that reads other functions has the passes
# before it run on them, and those read others, as deep on Python's stack as this.
_MAX_FUSED_STEPS = 16
_TOLERANCE = 1.5  # times as long, or as short, as was estimated, to be learnt from

_cores = functools.cache(usable_cores)


class Placement(enum.Enum):
    """The process in which a stage runs."""

    LOCAL = "in this process"
    REMOTE = "in the workers"
    PROBE = "in this process until the workers would be faster"


class PlacementReason(enum.StrEnum):
    """The reason why passes run in this process, for reports."""

    # They were placed here.
    NO_WORKERS = "without workers"
    ONE_FUNCTION = "a single function"
    SMALL = "too little work"
    DECLARED_HERE = "passes with where='here'"

    # They were placed in workers.
    STARTING = "while workers were starting"
    UNSENDABLE = "could not be sent to workers"
    UNLOADABLE = "workers could not load it"
    NO_ROOM = "no room for shared files"
    WORKERS_SLOWER = "workers could not keep up"
    REVALIDATED = "rerun because a callee changed its type"
    NO_PROCESSES = "no processes could be started"


class Placed(msgspec.Struct, frozen=True):
    """The place of the first passes of a stage, and the reason.

    Attributes:
        place: The process.
        count: How many passes that is.
        why: Why it is this process, if it is.
        may_take_back: Whether this process may run functions, too: until workers are
            ready, and if they turn out to be slower.
        estimate: What they are expected to take; None if that is not known, or did not
            decide.
    """

    place: Placement
    count: int
    why: PlacementReason = PlacementReason.SMALL
    may_take_back: bool = False
    estimate: Estimate | None = None


class _Stage(NamedTuple):
    """The stage that rules look at."""

    steps: Sequence[Pass]
    budgets: Sequence[Budget]
    functions: Mapping[str, Any]


class PlacementPolicy:
    """Chooses, for each stage of a run, the process in which it runs.

    Args:
        executor: The workers; None if there are none.
        adapter: Counts the nodes of functions.
        context: The settings in force.
        amortizer: What the runner has lost by not having started its workers.
        isolated: See the attribute.

    Attributes:
        why_serial: Why the run has no workers; None if it has.
        isolated: Whether every function pass runs in a worker.
        start_seconds: The limit for a worker to start, and to load a stage.
    """

    def __init__(
        self,
        executor: Executor | None,
        adapter: ModuleAdapter,
        context: PassContext,
        amortizer: StartupAmortizer,
        *,
        isolated: bool = False,
    ) -> None:
        self._executor = executor
        self.why_serial: PlacementReason | None = None
        if executor is None:
            self.why_serial = PlacementReason.NO_WORKERS
        self._adapter = adapter
        self._context = context
        self._amortizer = amortizer
        self.isolated = isolated
        config = context.config
        # Most contexts have no options.
        self._is_inspected = bool(
            config and (config.get(REPRODUCER) or config.get(CHECK_CONTRACT))
        )
        self._keeps_small = optimizations_in(config).local_small_stages
        self._given_overhead: float | None = config.get(ASKING_WORKERS_SECONDS)
        self.start_seconds: float = config.get(START_TIMEOUT, DEFAULT_START_SECONDS)

    @property
    def executor(self) -> Executor:
        """The workers of a run that has some."""
        assert self._executor is not None
        return self._executor

    @property
    def is_warm(self) -> bool:
        """Whether there are workers, and they have been started."""
        return self.why_serial is None and self.executor.is_warm

    def choose(
        self,
        steps: Sequence[Pass],
        budgets: Sequence[Budget],
        functions: Mapping[str, Any],
    ) -> Placed:
        """Return where the first passes of a stage run, by the first rule that applies.

        Args:
            steps: The passes.
            budgets: The limits of each.
            functions: The functions by name, as objects or as handles of the store.
        """
        count = together(steps, self._context)
        stage = _Stage(steps[:count], budgets[:count], functions)
        for rule in self._RULES:
            placed = rule(self, stage)
            if placed is not None:
                return placed
        return self._by_cost(stage)

    def _if_serial(self, stage: _Stage) -> Placed | None:
        if self.why_serial is None:
            return None
        return Placed(Placement.LOCAL, len(stage.steps), self.why_serial)

    def _if_empty(self, stage: _Stage) -> Placed | None:
        return None if stage.functions else self._here(stage)

    def _if_untrusted(self, stage: _Stage) -> Placed | None:
        """Keep away from this process what must not end it, or hold it up."""
        if self.isolated or self._is_inspected:
            return self._in_workers(stage)
        return None

    def _if_declared(self, stage: _Stage) -> Placed | None:
        """Run passes where they say that they run (`where`).

        Passes that say nothing go along with those of "workers" before and after them,
        never with those of "here", which are a stage of their own. Isolation is above
        this. A limit is below it: "here" it is checked when the pass is done, which is
        warned of.
        """
        places = {declared_where(step) for step in stage.steps}
        if "here" in places:
            _warn_of_late_limits(stage.steps, stage.budgets)
            here = PlacementReason.DECLARED_HERE
            return Placed(Placement.LOCAL, len(stage.steps), here)
        return self._in_workers(stage) if "workers" in places else None

    def _if_limited(self, stage: _Stage) -> Placed | None:
        """Run passes with limits where these can be enforced whatever a pass does."""
        if any_limited(stage.budgets):
            return self._in_workers(stage)
        return None

    def _if_switched(self, stage: _Stage) -> Placed | None:
        """Take no look at costs where workers are to be asked for nothing."""
        if not self._keeps_small or self.warm_overhead(len(stage.functions)) <= 0:
            return self._in_workers(stage)
        return None

    def _by_cost(self, stage: _Stage) -> Placed:
        """Run small work here, and work that is worth workers there."""
        steps, functions = stage.steps, stage.functions
        least = self.warm_overhead(len(functions))
        if least == math.inf:
            return self._here(stage)
        known = estimate(steps, functions, self._adapter)
        if known is None:
            return self._to_be_probed(stage)
        follows = costs_follow_sizes(steps)
        if follows and known.margin == 1 and _is_negligible(known, least):
            SLOWDOWN.decay()
            return self._here(stage, known)
        overhead = self.dispatch_overhead(len(functions))
        if follows:
            return self._by_estimate(stage, known, overhead)
        return self._by_lower_bound(stage, known, overhead)

    # The first that applies wins. Results are the same wherever a stage runs, so rules
    # are about safety, which come first, and speed.
    _RULES = (
        _if_serial,
        _if_empty,
        _if_untrusted,
        _if_declared,
        _if_limited,
        _if_switched,
    )

    def _here(self, stage: _Stage, known: Estimate | None = None) -> Placed:
        workers = self.executor.workers
        why = PlacementReason.SMALL
        if workers == 0:
            why = PlacementReason.NO_WORKERS
        elif len(stage.functions) == 1:
            why = PlacementReason.ONE_FUNCTION
        elif workers == 1:
            why = PlacementReason.NO_WORKERS
        return Placed(Placement.LOCAL, len(stage.steps), why, estimate=known)

    def _in_workers(self, stage: _Stage) -> Placed:
        return Placed(Placement.REMOTE, len(stage.steps))

    def _to_be_probed(self, stage: _Stage) -> Placed:
        return Placed(Placement.PROBE, len(stage.steps), may_take_back=True)

    def dispatch_overhead(self, functions: int) -> float:
        """Return the seconds that workers must save on a stage to be worth it."""
        least = self.warm_overhead(functions)
        if self._given_overhead is not None or self.executor.is_warm:
            return least
        return max(least, _START_UP_SECONDS - self._amortizer.missed_saving)

    def warm_overhead(self, functions: int) -> float:
        """Return the seconds for workers that have been started."""
        if self._given_overhead is not None:
            return self._given_overhead
        # Of one function nothing can be shared out.
        is_alone = functions <= 1 or self.executor.workers <= 1
        return math.inf if is_alone else WARM_OVERHEAD_SECONDS

    @property
    def offload_overhead(self) -> float:
        """The seconds that workers must save once the first of them is ready."""
        given = self._given_overhead
        return _OFFLOAD_SECONDS if given is None else given

    def speedup(self) -> SpeedupModel:
        """Return the model of what the workers save."""
        return SpeedupModel(self.executor.workers, _cores())

    def local_seconds(
        self, steps: Sequence[Pass], functions: Mapping[str, Any]
    ) -> float | None:
        """Return the estimated seconds of a stage in this process, None if unknown.

        Only measurements made in this process count.
        """
        if COST_MODEL.local_pace(steps) is None or not costs_follow_sizes(steps):
            return None
        known = estimate(steps, functions, self._adapter)
        return None if known is None else known.seconds

    def update(
        self, placed: Placed, steps: Sequence[Pass], mod: Any, outcome: StageResult
    ) -> None:
        """Correct the cost model after a stage, where the estimate was far off.

        All nodes are counted then, as an estimate may rest on a few functions. Passes
        do not take less in workers than here; by how much longer they took than
        expected holds for other passes, too.

        Args:
            placed: Where it was placed, and by which estimate.
            steps: The passes.
            mod: The module that they ran on.
            outcome: What they gave, and took.
        """
        if placed.estimate is None:
            return
        expected, records = placed.estimate.seconds, outcome.records
        spent = outcome.ended - outcome.began
        in_workers = placed.place is Placement.REMOTE
        if not in_workers and expected / _TOLERANCE < spent < expected * _TOLERANCE:
            return
        if len(records) < len(steps) or ends_stage(records[-1]):
            return
        seconds = [record.seconds for record in records]
        if not in_workers or sum(seconds) < expected / _TOLERANCE:
            COST_MODEL.update(steps, seconds, total_nodes(mod, self._adapter))
        if in_workers:
            SLOWDOWN.update(placed.estimate.in_workers, spent)

    def add_missed_saving(self, seconds: float, nodes: float, functions: int) -> None:
        """Count what workers would have saved on a stage that took so long here."""
        saving = self.speedup().saved(seconds, nodes, functions)
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
        known = estimate(steps, functions, self._adapter)
        if known is not None:
            SLOWDOWN.update(self.speedup().expected(*known.work), spent)

    def _by_lower_bound(
        self, stage: _Stage, known: Estimate, overhead: float
    ) -> Placed:
        """Place passes whose cost does not follow the size of functions.

        The cost model has the least that they took for a node, so that a stage is
        small is never known: it is probed each time.
        """
        saved = known.seconds - self.speedup().expected(*known.work)
        if saved > overhead:
            return self._in_workers(stage)
        return self._to_be_probed(stage)

    def _by_estimate(self, stage: _Stage, known: Estimate, overhead: float) -> Placed:
        """Place a stage whose estimated seconds can be relied on."""
        gain = self.speedup()
        saved = min(gain.saved(*known.work), known.seconds - known.longest)
        if saved > overhead:
            start = 0.0 if self.executor.is_warm else _START_UP_SECONDS
            expected = start + max(gain.expected(*known.work), known.longest)
            return msgspec.structs.replace(
                self._in_workers(stage),
                may_take_back=True,
                estimate=msgspec.structs.replace(known, in_workers=expected),
            )
        most = known.margin * known.seconds
        if known.margin > 1 and gain.saved(most, *known.work[1:]) >= overhead:
            return self._to_be_probed(stage)
        SLOWDOWN.decay()
        self._amortizer.add_missed_saving(saved)
        return self._here(stage, known)


def costs_follow_sizes(steps: Sequence[Pass]) -> bool:
    """Return whether the cost of passes is proportional to the nodes of functions."""
    return all(step.cost_follows_size for step in steps)


def together(steps: Sequence[Pass], context: PassContext) -> int:
    """Return how many of the first passes of a stage go through one visit at most."""
    fuses = optimizations_in(context.config).stages
    count = undivided([declared_where(step) == "here" for step in steps])
    return min(count, _MAX_FUSED_STEPS if fuses else 1)


def undivided(is_here: Sequence[bool]) -> int:
    """Return how many of the first passes run in one place, by whether that is here."""
    changes = (at for at, one in enumerate(is_here) if one is not is_here[0])
    return next(changes, len(is_here))


def _warn_of_late_limits(steps: Sequence[Pass], budgets: Sequence[Budget]) -> None:
    for step, budget in zip(steps, budgets, strict=True):
        # Of those without a clock the serial driver warns.
        for name in [one.name for one, _ in budget.items() if one.clock is not None]:
            warn(
                f"{name} of pass '{step.info.name}' is only checked after each "
                "function, because where = 'here' runs the pass in this process; drop "
                "it to stop the pass in time",
                BudgetWarning,
            )


def _is_negligible(known: Estimate, overhead: float) -> bool:
    """Return whether a stage is too small for workers, however fast these are.

    On a small stage everything else that would be computed is a good part of its time.
    """
    return known.seconds - known.longest <= min(overhead, WARM_OVERHEAD_SECONDS)
