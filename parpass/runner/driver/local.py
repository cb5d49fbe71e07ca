"""The part of a stage that runs in this process: all of it, or what workers leave.

When functions are handed over to workers is decided in `probe`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence

from parpass.runner.cost_model import COST_MODEL
from parpass.runner.driver.probe import StopCriterion, WarmUpCriterion
from parpass.runner.driver.state import RunState, StageInProgress
from parpass.runner.ipc.messages import (
    FunctionOutcome,
    Recording,
    Verdicts,
)
from parpass.runner.ipc.module_store import FunctionHandle, ModuleStore, StoredModule
from parpass.runner.observers import (
    Activity,
    RunObserver,
    timing,
)
from parpass.runner.placement import PlacementPolicy, PlacementReason
from parpass.runner.stage.interpreter import FunctionCursor, StageInterpreter
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import Pass, PassContext
from parpass.transform.budget import Budget
from parpass.transform.capture.intercept import allowing_capture
from parpass.transform.capture.recorder import function_pass_body
from parpass.transform.plan.commands import Reproduce, RunStage, StageResult
from parpass.transform.plan.serial import run_stage_serially


class LocalStageExecutor:
    """Runs stages of one run in this process, whole or in part."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def run(
        self,
        command: RunStage,
        reason: PlacementReason,
        budgets: Sequence[Budget] | None = None,
    ) -> StageResult:
        """Run a whole stage as a serial run does.

        Args:
            command: The stage.
            reason: Why it runs here, for the report.
            budgets: The limits of its passes; by default those of the context.
        """
        state, steps = self._state, command.steps
        mod = state.load(command.mod)
        with (
            timing(state.observers, Activity.HERE, reason),
            state.walk(steps, mod) as checkpoint,
        ):
            outcome = run_stage_serially(
                steps,
                mod,
                state.context,
                state.adapter,
                checkpoint,
                budgets=budgets,
                analyses=state.analyses,
            )
        for one in state.observers:
            one.stage_ended(outcome.records, None)
        return outcome

    async def run_until_handover(
        self, stage: StageInProgress, policy: PlacementPolicy
    ) -> PlacementReason:
        """Run all passes on one function after another until workers would be faster.

        Afterwards functions without an outcome are left for the workers; none are if
        that was never so.

        Returns:
            Why it ran here: workers were starting, or were not worth it.
        """
        outcomes = stage.outcomes
        functions, before = len(outcomes.missing()), list(outcomes.step_seconds)
        if stage.was_warm:
            criterion = StopCriterion(functions, policy, self._state.store)
        else:
            criterion = WarmUpCriterion(stage, self._state, policy)
        reason, observers = PlacementReason.SMALL, self._state.observers
        with timing(observers, Activity.HERE, reason) as here:
            try:
                await self._run(stage, criterion)
            except BaseException:
                criterion.cancel()
                raise
            finally:
                if criterion.has_started:
                    here.name = reason = PlacementReason.STARTING
        if criterion.has_started:
            for one in observers:
                one.workers_started(criterion.start_seconds)
            with timing(observers, Activity.LOADING):
                criterion.start_others()
        elif not outcomes.missing():
            policy.add_missed_saving(criterion.seconds(), criterion.nodes, functions)
        _learn_costs(stage, before, criterion.nodes)
        return reason

    async def run_rest(self, stage: StageInProgress, reason: PlacementReason) -> None:
        """Run all passes on the functions without an outcome."""
        with timing(self._state.observers, Activity.HERE, reason):
            await self._run(stage)

    async def _run(
        self, stage: StageInProgress, criterion: StopCriterion | None = None
    ) -> None:
        state = self._state
        args = stage.command.steps, stage.module, state.context, state.store
        watchers = state.watchers
        await state.backend.call(run_rest, *args, stage.outcomes, criterion, watchers)


def _learn_costs(stage: StageInProgress, before: Sequence[float], nodes: float) -> None:
    """Add to the cost model what the passes took on so many nodes, since `before`."""
    outcomes = stage.outcomes
    if not any(outcome.ended_early for outcome in outcomes.notable.values()):
        spent = zip(before, outcomes.step_seconds, strict=True)
        COST_MODEL.update(
            stage.command.steps, [after - first for first, after in spent], nodes
        )


@contextlib.contextmanager
def local_interpreter(
    steps: Sequence[Pass],
    mod: StoredModule,
    context: PassContext,
    store: ModuleStore,
    *,
    unstable: Sequence[str],
    quarantined: Verdicts,
    recording: Recording = Recording.NOTHING,
) -> Generator[StageInterpreter]:
    """Yield the interpreter of a stage on functions as objects, in this process.

    Args:
        steps: The passes.
        mod: The functions.
        context: The settings in force.
        store: Decodes functions.
        unstable: The functions whose signatures may change.
        recording: What outcomes have for a function cache.
        quarantined: Which passes killed a worker, or hung, on which function: they are
            not called on it in this process either.
    """
    work = StageInterpreter(
        steps,
        context,
        store.adapter,
        mod.base,
        list(mod.handles),
        lambda name: store.load(mod.handles[name], mod.base),
        unstable=unstable,
        recording=recording,
    )
    work.quarantined = quarantined
    with (
        contextlib.closing(work),
        function_pass_body(),
        allowing_capture(),
    ):
        yield work


def run_rest(
    steps: Sequence[Pass],
    mod: StoredModule,
    context: PassContext,
    store: ModuleStore,
    outcomes: StageOutcomes,
    proceeds: Callable[[int, FunctionHandle], bool] | None = None,
    observers: Sequence[RunObserver] = (),
) -> None:
    """Run passes on the functions without an outcome in this process, and record it.

    Args:
        steps: The passes.
        mod: The functions.
        context: The settings in force.
        store: Decodes functions.
        outcomes: The results so far.
        proceeds: Called before each function, with how many were run and its handle;
            the rest is left where this returns False.
        observers: Notified of each function.
    """
    names = outcomes.names
    unstable, quarantined = outcomes.unstable_names(), outcomes.local_quarantine()
    with local_interpreter(
        steps,
        mod,
        context,
        store,
        unstable=unstable,
        quarantined=quarantined,
        recording=outcomes.recording,
    ) as work:
        work.cutoff = outcomes.cutoff
        for count, at in enumerate(outcomes.missing()):
            store.check_open()
            held = mod.handles[names[at]]
            if proceeds:
                store.load(held, mod.base)
                if not proceeds(count, held):
                    return
            cursor = FunctionCursor(names[at])
            for one in observers:
                one.function_began(0, at, cursor.outcome)
            made = work.resume(cursor)
            for one in observers:
                one.function_ended(0, at, made)
            put_outcome(outcomes, at, held, made)


def put_outcome(
    outcomes: StageOutcomes,
    function: int,
    held: FunctionHandle,
    outcome: FunctionOutcome,
) -> None:
    """Add the outcome of a function, given by its index, to those of the stage."""
    made = outcome.function
    is_same = made is None or made is held.function
    outcomes.put(function, held if is_same else FunctionHandle(made), outcome)


def reproduce(
    command: Reproduce,
    mod: StoredModule,
    context: PassContext,
    store: ModuleStore,
    quarantined: Verdicts,
) -> None:
    """Write a reproducer; earlier passes run again on the functions that it needs."""
    if not command.steps:
        command.write(store.module(mod), context, store.adapter)
        return
    steps = command.steps
    with local_interpreter(
        steps, mod, context, store, unstable=list(mod.handles), quarantined=quarantined
    ) as work:
        before = work.module_before(command.at)
        command.write(before, context, store.adapter)
