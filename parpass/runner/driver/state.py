"""The state of a run and of a stage in progress, and the fallback to this process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import msgspec

from parpass.runner.ipc.module_store import FunctionHandle, ModuleStore, StoredModule
from parpass.runner.observers import Activity, RunObservers, Walk, timing
from parpass.runner.placement import Placed, PlacementPolicy, PlacementReason
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.analysis_manager import AnalysisManager
from parpass.transform.budget import Budget
from parpass.transform.plan.commands import RunStage, StageResult
from parpass.transform.plan.serial import (
    Checkpoint,
    KnownResults,
    run_stage_serially,
)

if TYPE_CHECKING:
    from parpass.runner.cache.run_cache import RunCache
    from parpass.runner.cache.stage_cache import StageCache
    from parpass.runner.driver.backends import AsyncBackend


class RunState(msgspec.Struct, frozen=True):
    """The state of one run, shared by the parts of the driver.

    Attributes:
        store: The functions as objects and encoded, and the shared directory.
        analyses: The results of analyses that are kept in this process.
        policy: Chooses the process for each stage.
        cache: The results of earlier runs; None in a run without a cache.
    """

    backend: AsyncBackend
    adapter: ModuleAdapter
    context: PassContext
    store: ModuleStore
    observers: RunObservers
    analyses: AnalysisManager
    policy: PlacementPolicy
    cache: RunCache | None = None

    def walk(
        self,
        steps: Sequence[Pass],
        mod: Any,
        checkpoint: Checkpoint | None = None,
        *,
        budgets: Sequence[Budget] | None = None,
        known: KnownResults | None = None,
    ) -> StageResult:
        """Run passes on a module here, as a serial run does, and notify observers.

        See `run_stage_serially`. By default `checkpoint` is one that raises in a run
        that was abandoned.
        """
        mod = self.load(mod)
        if checkpoint is None and self.backend.abandons:
            checkpoint = self._check_open
        watching = self.observers.of_functions()
        walk = nullcontext(checkpoint)
        if watching is not None:
            names = list(self.adapter.functions(mod))
            walk = Walk(watching, steps, names, checkpoint)
        with walk as called:
            return run_stage_serially(
                steps,
                mod,
                self.context,
                self.adapter,
                called,
                budgets=budgets,
                analyses=self.analyses,
                known=known,
            )

    def _check_open(self, at: int, _function: Any) -> int:
        self.store.check_open()
        return at + 1

    def load(self, mod: Any) -> Any:
        """Return a module as an object; one in the store is decoded."""
        if type(mod) is not StoredModule:
            return mod
        if mod.built is not None:
            return mod.built
        with timing(self.observers, Activity.LOOKING):
            return self.store.module(mod)


class StageInProgress(msgspec.Struct, frozen=True):
    """A stage of which some functions may have been through some passes.

    Attributes:
        module: Its functions in the store.
        outcomes: The results so far.
        began: The start of the stage, by `time.perf_counter()`.
        was_warm: Whether there were workers then.
        placed: Where it was to run then.
        cache: Its results of earlier runs; None if there are none, nor will be.
    """

    command: RunStage
    module: StoredModule
    outcomes: StageOutcomes
    began: float
    was_warm: bool
    placed: Placed
    cache: StageCache | None = None

    @property
    def missing_handles(self) -> dict[str, FunctionHandle]:
        """The functions without an outcome, by name, in module order."""
        handles = self.module.handles
        return {name: handles[name] for name in self.outcomes.missing_names()}

    def first(self, count: int) -> StageInProgress:
        """Return the stage of the first `count` passes, with their results so far."""
        outcomes = self.outcomes.first(count)
        if outcomes is self.outcomes:
            return self
        return msgspec.structs.replace(
            self,
            command=self.command.first(count),
            outcomes=outcomes,
            placed=msgspec.structs.replace(self.placed, count=count, estimate=None),
            cache=None,
        )


class FallbackError(Exception):
    """Workers cannot run a stage, or some of its passes; this process can.

    Args:
        reason: Why.
        detail: What cannot be done, for a message.
        passes: For each pass why it cannot run in workers, None if it can; None where
            it is no single pass, and the rest of the run stays in this process.
    """

    def __init__(
        self,
        reason: PlacementReason,
        detail: str,
        passes: Sequence[str | None] | None = None,
    ) -> None:
        super().__init__()
        self.reason, self.detail, self.passes = reason, detail, passes
